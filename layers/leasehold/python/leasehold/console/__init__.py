"""The web console: a page on localhost that works with the operator's own credentials."""
