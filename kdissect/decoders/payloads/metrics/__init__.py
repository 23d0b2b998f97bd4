"""The metrics that clients push (KIP-714): OpenTelemetry in Protocol Buffers."""
