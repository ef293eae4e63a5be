"""What ministack lacks of AWS and of caution, patched in its own process, where there is no Leasehold."""
