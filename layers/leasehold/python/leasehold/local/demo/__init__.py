"""The demo: a realistic mix of jobs on a real DynamoDB engine, each read back and checked at the end."""
