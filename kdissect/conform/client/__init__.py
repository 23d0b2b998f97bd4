"""Tests of Kafka clients: a scripted cluster on loopback, and situations in which a client has to act."""
