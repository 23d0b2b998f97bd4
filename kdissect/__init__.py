"""kdissect: a Kafka wire-protocol analyzer."""
