"""Sequences of requests to a broker."""
