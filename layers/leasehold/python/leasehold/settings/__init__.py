"""What is read when stacks are made, not when jobs run: the folders of job types."""
