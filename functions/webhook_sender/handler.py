"""The system function `leasehold.functions.webhook_sender`: deployed ones run it from the layer."""

from leasehold.functions.webhook_sender import lambda_handler

__all__ = ["lambda_handler"]
