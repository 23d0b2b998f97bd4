"""Rules: transactions."""
