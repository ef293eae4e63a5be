"""What each route does, one file per noun."""
