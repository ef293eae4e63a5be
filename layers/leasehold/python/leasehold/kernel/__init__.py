"""The kernel: what a plain job needs, and nothing else."""
