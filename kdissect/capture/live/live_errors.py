"""Why there is nothing to capture, or no more."""

from kdissect.model.errors import KdissectError


class LiveError(KdissectError):
    """A capture cannot be started; the message is one line and says what to do where that is known."""


class BadFilterError(LiveError):
    """A capture filter that libpcap does not understand."""


class NotPermittedError(LiveError):
    """The process, or the program it starts, may not read packets."""


class MissingError(LiveError):
    """A program or library is not installed."""
