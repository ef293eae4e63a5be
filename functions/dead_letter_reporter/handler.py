"""The system function `leasehold.functions.dead_letter_reporter`: deployed ones run it from the layer."""

from leasehold.functions.dead_letter_reporter import lambda_handler

__all__ = ["lambda_handler"]
