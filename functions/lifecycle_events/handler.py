"""The system function `leasehold.functions.lifecycle_events`: deployed ones run it from the layer."""

from leasehold.functions.lifecycle_events import lambda_handler

__all__ = ["lambda_handler"]
