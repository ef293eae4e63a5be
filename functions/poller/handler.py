"""The system function `leasehold.functions.poller`: deployed ones run it from the layer."""

from leasehold.functions.poller import lambda_handler

__all__ = ["lambda_handler"]
