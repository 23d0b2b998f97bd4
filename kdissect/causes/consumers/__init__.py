"""Causes about consumers and their positions."""
