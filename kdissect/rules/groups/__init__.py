"""Rules: groups."""
