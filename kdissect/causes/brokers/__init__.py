"""Causes about brokers."""
