"""What pickling keeps of an object with slots."""

from typing import Any


def slot_state(value: object) -> tuple[None, dict[str, Any]]:
    """The values of all slots that have one, as `object.__getstate__` gives them.

    That looks no further than Python: with a compiled base it would leave out, or refuse, what that holds.
    """
    names = [name for kind in type(value).__mro__ for name in kind.__dict__.get("__slots__", ())]
    return None, {name: getattr(value, name) for name in names if hasattr(value, name)}
