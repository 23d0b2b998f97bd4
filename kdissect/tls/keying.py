"""Puts keys in place once the secrets of a connection are known."""

from typing import Protocol

from kdissect.model.extras import how_to_install
from kdissect.model.key_log import MASTER_SECRET
from kdissect.tls.handshake import EarlyData, Handshake
from kdissect.tls.hello import ServerHello
from kdissect.tls.protection import Aead13, Protection, protection_12
from kdissect.tls.schedule import keys_12, secret_bytes
from kdissect.tls.side import TlsSide
from kdissect.tls.suites import Suite
from kdissect.tls.tls_info import NO_KEY_LOG, NO_SECRETS, NO_SECRETS_OF_RENEGOTIATION, lacks

EARLY = "CLIENT_EARLY_TRAFFIC_SECRET"
# In the order client, server.
_HANDSHAKE = ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET")
_TRAFFIC = ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")
_LABELS_13 = (EARLY, *_HANDSHAKE, *_TRAFFIC)
_MASTER_BYTES = 48  # RFC 5246 section 8.1


class SecretSource(Protocol):
    """Source of secrets."""

    @property
    def is_given(self) -> bool:
        """Whether there is any log."""

    @property
    def may_grow(self) -> bool:
        """Whether asking again later can help."""

    def find(self, client_random: bytes, session_id: bytes) -> dict[str, bytes] | None:
        """Return the secrets of a session by their label in the key log. `session_id` is the server's."""


class Keying:
    """The keys of a connection. `why` is the reason if keys lack. `is_hopeless`: waiting will not bring them.

    `is_guessing`: the log lacks the secrets of the handshake itself. Its records are skipped until one opens
    with the keys of the application data. `is_partial`: the log lacks keys of the application data, so that
    it is not read: half a conversation looks as if one end did not answer. `early_data` opens 0-RTT data, if
    the log has the secret.
    """

    def __init__(self, handshake: Handshake, secrets: SecretSource | None) -> None:
        self._handshake = handshake
        self._secrets = secrets
        self.why = NO_KEY_LOG
        self.is_hopeless = secrets is None or not secrets.may_grow
        self.is_guessing = False
        self.is_partial = False
        self.early_data: Protection | None = None
        self.is_ready = False

    def arm(self, sides: tuple[TlsSide, TlsSide], is_last: bool = False) -> bool:
        """Look for the secrets and give the sides their keys. Return False if a secret is missing.

        `is_last`: no more secrets will come, so the present ones must do.
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
            self.why = NO_SECRETS if self._secrets.is_given else NO_KEY_LOG
            if self._handshake.is_renegotiation:
                self.why = NO_SECRETS_OF_RENEGOTIATION
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
            self.why = lacks((f"{MASTER_SECRET} with a master secret",))
            return False
        self.why = ""
        for side, keys in zip(ends, keys_12(suite, master, client_random, hello.random), strict=True):
            protection = protection_12(suite, keys, hello.mac_last)
            if side.direction in self._handshake.changed:
                side.protection = protection
            else:
                side.coming = [protection]
        return True

    def _arm_13(
        self, suite: Suite, session: dict[str, bytes], ends: tuple[TlsSide, TlsSide], is_last: bool
    ) -> bool:
        made = {
            label: Aead13(suite, secret)
            for label, secret in session.items()
            if label in _LABELS_13 and len(secret) == secret_bytes(suite)  # a line may be cut
        }
        lacking, no_handshake = (
            tuple(label for label in labels if label not in made) for labels in (_TRAFFIC, _HANDSHAKE)
        )
        if not lacking and no_handshake and self._handshake.early_data is EarlyData.OFFERED:
            lacking = no_handshake  # they say whether the early data was accepted
        self.why = lacks(lacking) if lacking else ""
        self.is_partial = bool(lacking)
        if no_handshake and not lacking:
            self.is_guessing = True
            for side, traffic in zip(ends, _TRAFFIC, strict=True):
                side.protection = made[traffic]
            return True
        # Handshakes that fail never reach traffic secrets. The keys that exist may show why they failed.
        if lacking and not (made and is_last):
            return False
        self.early_data = made.get(EARLY)
        for side, traffic, handshake in zip(ends, _TRAFFIC, _HANDSHAKE, strict=True):
            side.protection, side.coming = made.get(handshake), [made.get(traffic)]
        return True


def _has_cryptography() -> bool:
    try:
        import cryptography  # noqa: F401  # an extra
    except ImportError:
        return False
    return True
