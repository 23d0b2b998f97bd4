"""Plaintext of Kafka connections out of a JVM that runs: the agent, and how it gets in and out.

The agent's sources are in `agent/`; docs/tap.md tells what it does. Linux and HotSpot only.
"""

PREFIX = "tap:"
"""What the interface of a JVM begins with; its process id follows."""
