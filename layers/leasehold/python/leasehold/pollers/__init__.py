"""Pollers beyond one poll: one that waits for what is due soon, several that share a backlog, room for hand-overs."""
