"""Synthetic Kafka traffic: the parts of `benchmarks/generate.py`, one noun per module."""
