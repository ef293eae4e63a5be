"""The system function `leasehold.functions.registry_publisher`: deployed ones run it from the layer."""

from leasehold.functions.registry_publisher import lambda_handler

__all__ = ["lambda_handler"]
