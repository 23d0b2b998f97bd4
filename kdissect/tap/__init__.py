"""Plaintext of Kafka connections out of a JVM that runs: the agent, and how it gets in and out.

The agent's sources are in `agent/`; docs/tap.md tells what it does. Linux and HotSpot only.
"""

from kdissect.model.errors import KdissectError

PREFIX = "tap:"
"""What the interface of a JVM begins with; its process id follows."""
ENGINES = "engines"
"""What may follow behind a comma: TLS engines are looked at, too."""


class TapError(KdissectError):
    """A JVM cannot be tapped. The message is one line, and says what to do where that is known."""
