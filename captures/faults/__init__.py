"""Injects faults into real brokers and clients, and records them: one cause a run; see README.md."""
