"""The system function `leasehold.functions.audit_root`: deployed ones run it from the layer."""

from leasehold.functions.audit_root import lambda_handler

__all__ = ["lambda_handler"]
