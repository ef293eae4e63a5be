"""The system function `leasehold.functions.api`: deployed ones run it from the layer."""

from leasehold.functions.api import lambda_handler

__all__ = ["lambda_handler"]
