"""One Kafka connection: detection, framing, SASL phases, pairing. Sans-IO."""
