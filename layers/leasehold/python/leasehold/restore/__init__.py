"""Restore: the way back from a point-in-time recovery or an export, without running unasked what ran since."""
