"""Requests of members, or of who wants to be one, that got no answer."""

from typing import NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.model.packets.stream import CloseKind
from kdissect.session.exchange import State
from kdissect.session.info import ConnectionInfo

BROKERS_KEPT = 10_000  # brokers that were seen to answer members
JOIN_EPOCH = 0  # of a member that asks to join (KIP-848)
# Events on the wire that end a connection. Silence and the end of the capture end nothing.
_ENDS = frozenset({CloseKind.FIN, CloseKind.RST, CloseKind.REUSED})


class Attempt(NamedTuple):
    """A request of a member that was not answered.

    `member_id` is empty for a member that has none yet; `name` is a readable name for it. `given_up_ns` is
    when its connection ended, None where the capture ended first.
    """

    member_id: str
    name: str
    connection: str
    is_join: bool
    sent_ns: int
    given_up_ns: int | None

    @property
    def who(self) -> str:
        """The member, or the connection of one that has no id yet."""
        return self.member_id or self.connection


class Attempts:
    """Distinguishes attempts from requests whose responses were not captured.

    The proof is that the broker's side was captured, as its responses show, and that no bytes were lost.
    """

    def __init__(self) -> None:
        self._answering: Table[tuple[str, str], bool] = Table(BROKERS_KEPT)

    def answered(self, info: ConnectionInfo) -> None:
        """Note that the broker answered a member on this connection."""
        self._answering.put((info.capture_set, info.broker_address), True)

    def of(self, view: ExchangeView) -> Attempt | None:
        """Return the attempt that an exchange is; None for one that was answered, or may have been."""
        exchange = view.exchange
        broker = view.info.capture_set, view.info.broker_address
        if exchange.response is not None:
            self.answered(view.info)
        if exchange.state is not State.UNANSWERED or view.losses or self._answering.peek(broker) is None:
            return None
        request, close = view.request, exchange.close
        instance_id = getattr(request, "group_instance_id", None) or getattr(request, "instance_id", None)
        member_id = str(getattr(request, "member_id", None) or "")  # LeaveGroup has a list from v3 on
        is_over = close is not None and close.how in _ENDS
        is_join = view.key == apis.JOIN_GROUP or getattr(request, "member_epoch", None) == JOIN_EPOCH
        return Attempt(
            member_id, str(instance_id or exchange.client_id or member_id),
            view.info.id, is_join, view.sent_ns, close.time_ns if is_over and close is not None else None,
        )  # fmt: skip
