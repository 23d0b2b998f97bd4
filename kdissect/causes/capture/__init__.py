"""Causes about the capture itself."""
