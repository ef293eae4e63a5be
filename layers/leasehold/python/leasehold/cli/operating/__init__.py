"""What operators type: each command calls the admin service once, and shows its answer."""
