"""The open connections of a capture set by their flow keys, with their places in the compiled engine."""

from collections.abc import Mapping
from typing import Any

from kdissect.model.native import is_compiled, native


class FlowTable(dict[bytes, Any]):
    """A dict whose connections the compiled engine finds without an object for a key: `held` has the same.

    It changes by setting and popping a key and by `clear` alone. Pickled it is a dict.
    """

    __slots__ = ("held",)

    def __init__(self, flows: Mapping[bytes, Any]) -> None:
        super().__init__()
        self.held = native.HeldFlows()
        for key, flow in flows.items():
            self[key] = flow

    def __setitem__(self, key: bytes, flow: Any) -> None:
        held = flow.held
        if held is not None:
            self.held.set(key, held)
        elif len(self.held):
            self.held.drop(key)
        super().__setitem__(key, flow)

    def pop(self, key: bytes, *default: Any) -> Any:
        """Take out a flow."""
        if len(self.held):
            self.held.drop(key)
        return super().pop(key, *default)

    def clear(self) -> None:
        """Take out all of them."""
        self.held.clear()
        super().clear()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (), None, None, iter(self.items())


def flow_table(flows: Mapping[bytes, Any]) -> dict[bytes, Any]:
    """A table of these flows, as the bulk path that is there wants it."""
    return FlowTable(flows) if is_compiled else dict(flows)
