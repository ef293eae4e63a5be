"""The HTTP API: the admin service behind API Gateway, or on this machine. See docs/api.md."""
