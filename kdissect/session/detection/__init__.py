"""Detection of Kafka in a connection by its bytes, on any port."""
