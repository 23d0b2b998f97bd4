"""Rules: fetch."""
