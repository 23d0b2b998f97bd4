"""The open flows of a capture set by their keys, with the compiled lanes of the bulk path beside them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kdissect.model.native import is_compiled, native

if TYPE_CHECKING:
    from kdissect.net.tcp import Lane

Flow = tuple[Any, Any, Any, "Lane | None"]


class FlowTable(dict[bytes, Any]):
    """A dict whose flows the compiled hot path finds without an object for a key: `lanes` has the same.

    It changes by setting and popping a flow and by `clear` alone, and holds no lane itself. Pickled it is a
    dict.
    """

    __slots__ = ("lanes",)

    def __init__(self, flows: Mapping[bytes, Flow]) -> None:
        super().__init__()
        self.lanes = native.Lanes()
        for key, flow in flows.items():
            self[key] = flow

    def __setitem__(self, key: bytes, flow: Flow) -> None:
        tcp, direction, connection, lane = flow
        if lane is not None:
            self.lanes.set(key, lane)
            flow = tcp, direction, connection, None
        elif len(self.lanes):
            self.lanes.drop(key)
        super().__setitem__(key, flow)

    def pop(self, key: bytes, *default: Any) -> Any:
        """Take out a flow."""
        if len(self.lanes):
            self.lanes.drop(key)
        return super().pop(key, *default)

    def clear(self) -> None:
        """Take out all of them."""
        self.lanes.clear()
        super().clear()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (), None, None, iter(self.items())


def flow_table(flows: Mapping[bytes, Any]) -> dict[bytes, Any]:
    """A table of these flows, as the bulk path that is there wants it, with their lanes made anew."""
    with_lanes = {
        key: (tcp, direction, connection, tcp and connection.lane(direction))
        for key, (tcp, direction, connection, _) in flows.items()
    }
    return FlowTable(with_lanes) if is_compiled else with_lanes
