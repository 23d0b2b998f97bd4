"""Rules: sasl."""
