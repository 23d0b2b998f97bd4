"""Handling of unexpected exceptions, which are faults of kdissect's own.

The library raises it. After `use`, which the command line calls, a reader of several inputs stops the current
one, reports that with `told`, and continues with the next.
"""

from collections.abc import Callable

from kdissect.model.errors import DecodeError, KdissectError

Listener = Callable[[Exception], None]
"""Is given each fault as it is met."""
_listener: list[Listener | None] = [None]


def in_force() -> Listener | None:
    """Return the listener for faults in this process; None if they are raised."""
    return _listener[0]


def use(listener: Listener | None) -> None:
    """Have faults of this process go to `listener` instead of being raised."""
    _listener[0] = listener


def is_fault(error: Exception) -> bool:
    """Return whether an error is unexpected: neither an error of the system nor raised on purpose.

    A DecodeError is caught where bytes are decoded. A DecodeError that comes further is a fault.
    """
    return isinstance(error, DecodeError) or not isinstance(error, (OSError, KdissectError))


def fault_text(error: Exception) -> str:
    """Return a fault as a message of one line.

    Raises it where faults are raised, and what is none anywhere.
    """
    listener = _listener[0]
    if listener is None or not is_fault(error):
        raise error
    listener(error)
    return text_of(error)


def text_of(error: Exception) -> str:
    """Return a fault in one line, by its type alone: what an exception says may hold a secret of the
    capture.
    """
    return f"a fault of kdissect: {type(error).__name__} (--debug shows where)"
