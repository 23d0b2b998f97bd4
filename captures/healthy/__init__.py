"""Healthy days of each client library with each release of Apache Kafka, as captures."""
