"""Rules: bodies."""
