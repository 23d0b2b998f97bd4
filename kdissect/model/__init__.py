"""Terms of networks and of Kafka, as plain values. No I/O, no parsing, no policy."""
