"""Codecs of record batches: compressed bytes to bytes, never more than a bound."""
