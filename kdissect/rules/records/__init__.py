"""Rules: records."""
