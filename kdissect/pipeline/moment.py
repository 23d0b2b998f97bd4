"""Where an event stands among all events of a run, whoever finds it."""

from struct import Struct
from typing import NamedTuple

from kdissect.engine.analyzer import IDLE_NS, LINGER_NS
from kdissect.model.stream import CloseKind
from kdissect.session.info import ConnectionInfo

END_NS = (1 << 63) - 1  # behind every packet
_KEY = Struct(">QQI8s")
_BIAS = 1 << 63  # times before 1970 sort before later ones
_LAST_REF = (1 << 63) - 1


class Moment(NamedTuple):
    """The packet whose arrival completed an event, as (running maximum of time within its file, reference).

    `place` counts the events of one packet. What silence ends stands behind the packets of its time, and what
    the end of the capture does behind everything, in the order of the connections' first packets.
    """

    order_ns: int
    ref: int
    place: int
    connection: str

    def key(self) -> bytes:
        """28 bytes that sort as moments do."""
        return _KEY.pack(
            min(self.order_ns, END_NS) + _BIAS, self.ref + _BIAS, self.place, bytes.fromhex(self.connection)
        )


def moment_of_end(info: ConnectionInfo, place: int) -> Moment:
    """When a connection was over by nothing but time passing."""
    how = info.close.how if info.close is not None else CloseKind.CAPTURE_END
    if how is CloseKind.CAPTURE_END:
        return Moment(END_NS, info.start_ns, place, info.id)
    silence = IDLE_NS if how is CloseKind.IDLE else LINGER_NS
    return Moment(info.end_ns + silence, _LAST_REF, place, info.id)
