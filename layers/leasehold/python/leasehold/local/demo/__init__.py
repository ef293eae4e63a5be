"""The demo: a realistic mix of jobs on the deployed stacks, each read back and checked at the end."""
