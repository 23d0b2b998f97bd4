"""Rules: admin."""
