"""Leasehold on one machine, with no AWS account: real engines, started and stopped here."""
