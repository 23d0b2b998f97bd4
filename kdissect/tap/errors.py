"""Why a JVM cannot be tapped."""

from kdissect.model.errors import KdissectError


class TapError(KdissectError):
    """The message is one line, and says what to do where that is known."""
