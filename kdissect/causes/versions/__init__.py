"""Causes about versions of the protocol."""
