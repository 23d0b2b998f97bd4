"""Rules: pairing."""
