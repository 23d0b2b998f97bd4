"""Producers and transactions."""
