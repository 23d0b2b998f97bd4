"""Rules: headers."""
