"""Contents of bytes fields and records: group protocols, SASL tokens, telemetry, Kafka's own logs."""
