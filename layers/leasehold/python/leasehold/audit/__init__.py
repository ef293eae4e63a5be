"""The audit: what people and programs did, whether it is as it was written, and roots of it outside of the table."""
