"""Rules: telemetry."""
