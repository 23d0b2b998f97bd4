"""Rules: produce."""
