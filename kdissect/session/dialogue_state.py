"""What `Dialogue` is made of: its hot fields and, where the hot path is compiled, what is done with them."""

from kdissect.model.native import Pickled, is_compiled, native
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.session.pairing import Pairing
from kdissect.session.phases import Phase


class _Base:
    """What `native.DialogueState` holds as well."""

    __slots__ = (
        "_client_id", "_client_id_bytes", "_client_id_length", "_events", "_info", "_next", "_pairing",
        "_phase", "_tokens",
    )  # fmt: skip

    _client_id: str | None
    _client_id_bytes: bytes
    _client_id_length: int
    _events: list[Event]
    _info: ConnectionInfo
    _next: int
    _pairing: Pairing
    _phase: Phase
    _tokens: tuple[Exchange, ...]


_FIELDS = _Base.__slots__
if is_compiled:  # it has the same: tests/native/test_stub.py
    _Base = native.DialogueState  # type: ignore[assignment, misc]


class DialogueState(_Base, Pickled):
    """The base of `Dialogue`; its state is the same, however it is held."""

    __slots__ = ()
    FIELDS = _FIELDS
