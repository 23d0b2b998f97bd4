"""A TLS connection: two streams of ciphertext in, two of plaintext out, or the reason why not.

Rules:
- Handshakes are read whether or not secrets are known: version, suite, names.
- Keys come from the key log by the client's random. Where they are not there yet, records wait for them, a
  bounded number of bytes: a log is often written a moment after the packets.
- A record that does not open costs its bytes, not the connection; several in a row do.
- Renegotiation (TLS 1.2) is refused: the new handshake is encrypted and its secrets are logged under a random
  nobody can see from outside.
"""

from collections import deque
from collections.abc import Callable

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.stream import UNKNOWN_LENGTH, StreamSink
from kdissect.tls.handshake import Handshake
from kdissect.tls.handshake_messages import HandshakeType, ShortMessageError
from kdissect.tls.keying import Keying, SecretSource
from kdissect.tls.protection import Aead13, Plain
from kdissect.tls.side import TlsSide
from kdissect.tls.tls_info import NO_HANDSHAKE, UNFINISHED, TlsInfo
from kdissect.tls.tls_record import ContentType, Record

# Ciphertext kept while the secrets are not in the key log yet.
WAITING_BYTES = 1 << 16
# So many records in a row that do not open: the secrets are of another connection, or the bytes are damaged
# beyond use.
_BAD_RECORDS_IN_A_ROW = 8
# Encrypted records of a handshake: a few, one for each message at most, certificates in several.
_GUESSED_RECORDS = 64
_NOTHING_OPENS = "no record opens with the secrets in the key log"


class TlsConnection:
    """Decrypts one connection: ciphertext of direction `d` into `sides[d]`, plaintext into `sinks[d]`.

    `note(kind, detail, ref, time_ns)` is told of anomalies, `opaque()` is called once when no plaintext will
    come any more. Raises nothing for any input; between calls the state is plain and picklable.
    """

    def __init__(
        self,
        info: TlsInfo,
        sinks: tuple[StreamSink, StreamSink],
        secrets: SecretSource | None,
        note: Callable[[AnomalyKind, str, int, int], None],
        opaque: Callable[[], None],
    ) -> None:
        self.info = info
        self.sides = (TlsSide(self, 0, sinks[0]), TlsSide(self, 1, sinks[1]))
        self._handshake = Handshake(info)
        self._keying = Keying(info, self._handshake, secrets)
        self._note = note
        self._opaque = opaque
        self._waiting: deque[tuple[int, Record]] = deque()
        self._waiting_bytes = 0
        self._bad_in_a_row = 0

    @property
    def client(self) -> int | None:
        """The client's direction, once a hello was seen."""
        return self._handshake.client

    # calls of the sides

    def record(self, direction: int, record: Record) -> None:
        """The next record of a direction."""
        if self.sides[direction].is_shut:
            return
        if self._waiting or self._must_wait(direction, record):
            if not self._keying.is_ready and not self._key():
                self._wait(direction, record)
                return
            self._stop_waiting()
        if not self.sides[direction].is_shut:
            self._take(direction, record)

    def missing(self, direction: int, why: str) -> None:
        """A direction lost its place. Behind the handshake it may be found again."""
        side = self.sides[direction]
        if side.is_shut:
            return
        if self._waiting or side.protection is None or not side.is_finished:
            self.give_up(why if self._handshake.client is not None else NO_HANDSHAKE)

    def hopeless(self, why: str) -> None:
        """A direction cannot find its place again."""
        self.give_up(why)

    def ended(self, direction: int) -> None:
        """A direction is over: what waits is tried for the last time."""
        if self._waiting:
            if self._keying.arm(self.sides, is_last=True):
                self._stop_waiting()
            else:
                self.give_up(self._keying.why)
        why = self._lacking()
        if why and all(side.is_over for side in self.sides):
            self.give_up(why)

    def _lacking(self) -> str:
        """Why there is less plaintext than there could be."""
        if self._keying.is_ready and self._keying.why:
            return self._keying.why
        if self.info.is_decrypted:
            return ""
        return _NOTHING_OPENS if self._keying.is_guessing else UNFINISHED

    def give_up(self, why: str) -> None:
        """No plaintext any more, for a reason."""
        if self.info.why is not None:
            return
        self.info.why = why
        self._waiting.clear()
        for side in self.sides:
            side.is_shut = True
        self._opaque()

    # secrets

    def _must_wait(self, direction: int, record: Record) -> bool:
        """Whether a record needs keys that are not there."""
        return not self._keying.is_ready and self._handshake.is_protected(direction, record.kind)

    def _key(self) -> bool:
        """Look for the secrets; True with keys in place."""
        return self._keying.arm(self.sides)

    def _wait(self, direction: int, record: Record) -> None:
        self._waiting_bytes += len(record.body)
        if self._keying.is_hopeless or self._waiting_bytes > WAITING_BYTES:
            self.give_up(self._keying.why)
        else:
            self._waiting.append((direction, record))

    def _stop_waiting(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        for direction, record in waiting:
            if not self.sides[direction].is_shut:
                self._take(direction, record)

    # records

    def _take(self, direction: int, record: Record) -> None:
        side = self.sides[direction]
        if side.protection is None or (self._handshake.is_13 and record.kind != ContentType.APPLICATION_DATA):
            self._take_plain(side, record.kind, record.body, record)
            return
        plain = self._open(side, record)
        if plain is None:
            self._bad(side, record)
            return
        self._bad_in_a_row = 0
        if plain.kind == ContentType.APPLICATION_DATA:
            self.info.is_decrypted = True
            side.give(plain, record)
        else:
            self._take_plain(side, plain.kind, plain.content, record)

    def _open(self, side: TlsSide, record: Record) -> Plain | None:
        protection = side.protection
        plain = None if protection is None else protection.open(record)
        if plain is not None and protection is not None:
            protection.number += 1
            side.is_finished |= self._keying.is_guessing
        return plain

    def _bad(self, side: TlsSide, record: Record) -> None:
        """A record that does not open: it costs its own bytes."""
        protection = side.protection
        self._bad_in_a_row += 1
        is_first = not side.is_finished
        if self._keying.is_guessing and is_first and self._bad_in_a_row <= _GUESSED_RECORDS:
            return
        last = record.pieces[-1]
        self.info.bad_records += 1
        self._note(AnomalyKind.TLS_BAD_RECORD, "the record does not open", last.ref, last.time_ns)
        if is_first:
            self.give_up("the secrets in the key log do not fit the connection")
        elif self._bad_in_a_row >= _BAD_RECORDS_IN_A_ROW or protection is None:
            self.give_up(f"{_BAD_RECORDS_IN_A_ROW} records in a row do not open")
        else:
            protection.number += 1
            overhead = protection.overhead
            lost = UNKNOWN_LENGTH if overhead is None else max(0, len(record.body) - overhead)
            side.sink.gap(lost, False, last.ref, last.time_ns)

    def _take_plain(self, side: TlsSide, kind: int, content: bytes, record: Record) -> None:
        """Content that is no application data."""
        if kind == ContentType.HANDSHAKE:
            for message in side.messages.feed(content):
                self._message(side, message.kind, message.body)
                if side.is_shut:
                    return
            if side.messages.is_lost:
                self.give_up("a handshake message is too long")
        elif kind == ContentType.CHANGE_CIPHER_SPEC:
            self._handshake.change_cipher_spec(side.direction)
            if not self._handshake.is_13 and side.coming is not None:
                self._switch(side)
        elif kind == ContentType.ALERT:
            last = record.pieces[-1]
            text = self._handshake.alert(side.direction, content)
            if text:
                self._note(AnomalyKind.TLS_ALERT, text, last.ref, last.time_ns)
        elif self._handshake.server_hello is None:
            self.give_up(NO_HANDSHAKE if self._handshake.client is None else "no ServerHello before the data")

    def _message(self, side: TlsSide, kind: int, body: bytes) -> None:
        if kind == HandshakeType.CLIENT_HELLO and side.is_finished:
            self.give_up("renegotiation is not followed")
            return
        try:
            why = self._handshake.message(side.direction, kind, body)
        except ShortMessageError as error:
            why = f"malformed handshake: {error}"
        if why:
            self.give_up(why)
        elif kind == HandshakeType.FINISHED:
            side.is_finished = True
            if self._handshake.is_13:
                self._switch(side)  # to no keys at all, where the log lacks them: alerts may still be read
        elif kind == HandshakeType.KEY_UPDATE and isinstance(side.protection, Aead13):
            side.protection = side.protection.updated()

    def _switch(self, side: TlsSide) -> None:
        side.protection, side.coming = side.coming, None
        if self._handshake.is_13:
            side.is_finished = True
