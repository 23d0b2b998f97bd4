"""Plaintext of Kafka connections from a running JVM: the agent, and how it is loaded and unloaded.

The agent's sources are in `agent/`. docs/tap.md describes what it does. Linux and HotSpot only.
"""

from kdissect.model.errors import KdissectError

PREFIX = "tap:"
"""Prefix of a JVM's interface, followed by its process id."""
ENGINES = "engines"
"""Word that may follow after a comma: TLS engines are read, too."""


class TapError(KdissectError):
    """A JVM cannot be tapped. The message is one line, with the fix if it is known."""
