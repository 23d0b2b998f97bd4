"""Subjects of rules: bodies, batches, connections, and the stored earlier exchanges."""
