"""What ministack lacks of AWS, patched in its own process. It runs in an environment of its own, without Leasehold."""
