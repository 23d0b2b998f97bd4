"""What bytes fields and records hold: group protocols, SASL tokens, telemetry, Kafka's own logs."""
