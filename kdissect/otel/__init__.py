"""Exchanges as spans of OpenTelemetry, and requests to its collectors. Needs the extra `otel`."""
