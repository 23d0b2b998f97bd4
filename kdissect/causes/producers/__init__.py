"""Causes about producers and transactions."""
