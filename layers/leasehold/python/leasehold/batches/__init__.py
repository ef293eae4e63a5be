"""Batches: several jobs of a type in one invocation."""
