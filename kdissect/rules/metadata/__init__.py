"""Rules: metadata."""
