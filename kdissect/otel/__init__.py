"""Exchanges as spans of OpenTelemetry. Needs the extra `otel`."""
