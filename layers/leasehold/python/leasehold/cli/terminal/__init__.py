"""What people see of answers: cells, tables, one thing in detail, progress."""
