"""Limits: how many jobs may run at once or start in a while, who waits, and whose turn it is. See docs/limits.md."""
