"""The schema of the Kafka protocol: our own text form, its parser, lint and registry."""
