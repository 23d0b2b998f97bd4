"""Whether a connection carries Kafka, told by its bytes, on any port."""
