"""`leasehold verify`: a deployment shows on its own account that it works, phase by phase."""
