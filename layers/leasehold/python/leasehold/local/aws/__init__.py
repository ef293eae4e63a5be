"""The local AWS: the deployed stacks on this machine, without an account and without docker."""
