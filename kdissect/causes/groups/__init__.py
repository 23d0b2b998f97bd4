"""Causes about groups and their members."""
