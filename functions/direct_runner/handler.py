"""The system function `leasehold.functions.direct_runner`: deployed ones run it from the layer."""

from leasehold.functions.direct_runner import lambda_handler

__all__ = ["lambda_handler"]
