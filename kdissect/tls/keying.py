"""Puts keys in place once the secrets of a connection are known."""

from typing import Protocol

from kdissect.model.extras import how_to_install
from kdissect.model.key_log import MASTER_SECRET
from kdissect.tls.handshake import Handshake
from kdissect.tls.hello import ServerHello
from kdissect.tls.protection import Aead13, protection_12
from kdissect.tls.schedule import keys_12
from kdissect.tls.side import TlsSide
from kdissect.tls.suites import Suite
from kdissect.tls.tls_info import TlsInfo

_NO_KEY_LOG = "no key log was given"
_NO_SECRETS = "the key log has no secrets for the connection's client random"
# In the order client, server.
_HANDSHAKE = ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET")
_TRAFFIC = ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")
_LABELS_13 = (*_HANDSHAKE, *_TRAFFIC)
_MASTER_BYTES = 48  # RFC 5246 section 8.1


class SecretSource(Protocol):
    """Where secrets come from."""

    @property
    def is_given(self) -> bool:
        """Whether there is any log."""

    @property
    def may_grow(self) -> bool:
        """Whether asking again later can help."""

    def find(self, client_random: bytes, session_id: bytes) -> dict[str, bytes] | None:
        """The secrets of a session by their label in the key log; `session_id` is the server's."""


class Keying:
    """`why` says what is lacking; `is_hopeless`: waiting will not bring it.

    `is_guessing`: the log lacks the secrets of the handshake itself; its records are passed over until one
    opens with the keys of the application data.
    """

    def __init__(self, info: TlsInfo, handshake: Handshake, secrets: SecretSource | None) -> None:
        self._info = info
        self._handshake = handshake
        self._secrets = secrets
        self.why = _NO_KEY_LOG
        self.is_hopeless = secrets is None or not secrets.may_grow
        self.is_guessing = False
        self.is_ready = False

    def arm(self, sides: tuple[TlsSide, TlsSide], is_last: bool = False) -> bool:
        """Look for the secrets and give the sides their keys; False where something lacks.

        `is_last`: no more secrets will come, so what there is must do.
        """
        offer, hello, suite = (
            self._handshake.client_hello,
            self._handshake.server_hello,
            self._handshake.suite,
        )
        client = self._handshake.client
        if self._secrets is None or offer is None or hello is None or suite is None or client is None:
            return False
        session = self._secrets.find(offer.random, hello.session_id)
        if session is None:
            self.why = _NO_SECRETS if self._secrets.is_given else _NO_KEY_LOG
            return False
        if not _has_cryptography():
            self.is_hopeless = True
            self.why = f"decrypting needs the package cryptography: {how_to_install('tls')}"
            return False
        ends = sides[client], sides[1 - client]
        if suite.is_13:
            self.is_ready = self._arm_13(suite, session, ends, is_last or self.is_hopeless)
        else:
            self.is_ready = self._arm_12(suite, session, ends, offer.random, hello)
        return self.is_ready

    def _arm_12(
        self,
        suite: Suite,
        session: dict[str, bytes],
        ends: tuple[TlsSide, TlsSide],
        client_random: bytes,
        hello: ServerHello,
    ) -> bool:
        master = session.get(MASTER_SECRET, b"")
        if len(master) != _MASTER_BYTES:
            self.why = "the key log lacks CLIENT_RANDOM with a master secret for this connection"
            return False
        self.why = ""
        for side, keys in zip(ends, keys_12(suite, master, client_random, hello.random), strict=True):
            protection = protection_12(suite, keys, hello.mac_last)
            if side.direction in self._handshake.changed:
                side.protection = protection
            else:
                side.coming = protection
        return True

    def _arm_13(
        self, suite: Suite, session: dict[str, bytes], ends: tuple[TlsSide, TlsSide], is_last: bool
    ) -> bool:
        made = {label: Aead13(suite, secret) for label, secret in session.items() if label in _LABELS_13}
        lacking = [label for label in _LABELS_13 if label not in made]
        self.why = f"the key log lacks {lacking[-1]} for this connection" if lacking else ""
        has_traffic, has_handshake = (made.keys() >= set(labels) for labels in (_TRAFFIC, _HANDSHAKE))
        if has_traffic and not has_handshake:
            self.is_guessing = True
            self.why = ""
            for side, traffic in zip(ends, _TRAFFIC, strict=True):
                side.protection = made[traffic]
            return True
        # Handshakes that fail never come to traffic secrets: what there is may tell why they failed.
        if not has_traffic and not (made and is_last):
            return False
        for side, traffic, handshake in zip(ends, _TRAFFIC, _HANDSHAKE, strict=True):
            side.protection, side.coming = made.get(handshake), made.get(traffic)
        return True


def _has_cryptography() -> bool:
    try:
        import cryptography  # noqa: F401  # an extra
    except ImportError:
        return False
    return True
