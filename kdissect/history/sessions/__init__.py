"""State of sessions: fetches, share fetches, snapshots, client telemetry."""
