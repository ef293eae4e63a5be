"""Deduplication: one job per key and window."""
