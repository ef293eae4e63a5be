"""Payloads that are not short: compressed, or apart from their jobs."""
