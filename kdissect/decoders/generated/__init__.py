"""Decoders generated from the schema, one for each version of a message."""
