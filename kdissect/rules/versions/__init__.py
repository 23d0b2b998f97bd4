"""Rules: versions."""
