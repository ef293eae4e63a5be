"""Payload schemas: asked of each handler at deployment, so that a payload that cannot fit is refused before its job."""
