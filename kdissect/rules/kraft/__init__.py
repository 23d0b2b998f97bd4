"""Rules: kraft."""
