"""Causes about metadata, topics and connections."""
