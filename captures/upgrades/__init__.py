"""Clients that ran with several releases of Apache Kafka, and what `kdissect upgrade` predicts of them."""
