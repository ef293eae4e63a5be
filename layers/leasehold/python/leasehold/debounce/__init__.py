"""Debounce: a burst of calls makes one job."""
