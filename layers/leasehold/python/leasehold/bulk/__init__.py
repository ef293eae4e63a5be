"""Bulk: many jobs in few calls."""
