"""Plain values for the terms of networks and Kafka. No I/O, no parsing, no policy."""
