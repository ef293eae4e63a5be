"""What ministack lacks of AWS and of caution, patched in its own process. It runs in an environment of its own, without Leasehold."""
