"""The system function `leasehold.functions.schedule_trigger`: deployed ones run it from the layer."""

from leasehold.functions.schedule_trigger import lambda_handler

__all__ = ["lambda_handler"]
