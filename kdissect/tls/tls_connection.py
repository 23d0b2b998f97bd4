"""A TLS connection: two streams of ciphertext in, two of plaintext out, or the reason why not.

Rules:
- Handshakes are read whether or not secrets are known: version, suite, names.
- Keys come from the key log by the client's random. Records wait for them, a bounded number of bytes: a log
  is often written a moment after the packets. Records also wait for the server's answer to a hello, and for
  its decision about 0-RTT early data.
- A connection is read in both directions or not at all: if the log lacks the secret of one direction, the
  other one stays encrypted as well.
- A record that does not open costs its bytes, not the connection. Several in a row end the decryption, and so
  does the first one under its keys.
- A renegotiation (TLS 1.2) is a handshake inside the connection, with secrets under a random of its own.
"""

from collections.abc import Callable

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.stream import UNKNOWN_LENGTH, StreamSink
from kdissect.tls.handshake import EarlyData, Handshake
from kdissect.tls.handshake_messages import HandshakeType, ShortMessageError
from kdissect.tls.keying import EARLY, Keying, SecretSource
from kdissect.tls.protection import Aead13, Plain
from kdissect.tls.side import TlsSide
from kdissect.tls.tls_info import (
    NO_HANDSHAKE,
    NO_SERVER_HELLO,
    NOTHING_OPENS,
    UNFINISHED,
    WRONG_SECRETS,
    TlsInfo,
    lacks,
)
from kdissect.tls.tls_record import ContentType, Record

# Ciphertext buffered while the secrets are not in the key log yet.
WAITING_BYTES = 1 << 16
# Records in a row that do not open, after which the secrets must be of another connection, or the bytes
# damaged beyond use.
_BAD_RECORDS_IN_A_ROW = 8
# Encrypted records of a handshake: a few, one for each message at most, certificates in several.
_GUESSED_RECORDS = 64
# Records of refused early data that are skipped: OpenSSL accepts 16 KiB of it by default.
_SKIPPED_RECORDS = 4096


class TlsConnection:
    """Decrypter of one connection: ciphertext of direction `d` into `sides[d]`, plaintext into `sinks[d]`.

    `note(kind, detail, ref, time_ns)` receives anomalies. `opaque()` is called once when no plaintext will
    come any more. No input raises an exception. Between calls the state is plain and picklable.
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
        self._secrets = secrets
        self._handshake = Handshake(info)
        self._keying = Keying(self._handshake, secrets)
        self._note = note
        self._opaque = opaque
        self._records = 0
        self._waiting_bytes = 0
        self._unopened = 0

    @property
    def client(self) -> int | None:
        """The client's direction, once a hello was seen."""
        return self._handshake.client

    # calls of the sides

    def record(self, direction: int, record: Record) -> None:
        """Take the next record of a direction."""
        side = self.sides[direction]
        if side.is_shut:
            return
        if side.waiting or not self._is_readable(side, record):
            self._wait(side, record)
        else:
            self._take(side, record)
        self._go_on()

    def missing(self, direction: int, why: str) -> None:
        """Handle a direction that lost its position. After the handshake it may find it again."""
        side = self.sides[direction]
        if side.is_shut:
            return
        if side.waiting or side.protection is None or not side.is_finished:
            self.give_up(why if self._handshake.client is not None else NO_HANDSHAKE)

    def hopeless(self, why: str) -> None:
        """Handle a direction that cannot find its position again."""
        self.give_up(why)

    def ended(self, direction: int) -> None:
        """Handle the end of a direction: try the waiting records for the last time."""
        is_over = all(side.is_over for side in self.sides)
        if self._waits_for_keys():
            self._keying.arm(self.sides, is_last=True)
            self._go_on()
            if self._waits_for_keys():
                self.give_up(self._keying.why)
        why = self._lacking()
        if why and is_over:
            self.give_up(why)

    def _lacking(self) -> str:
        """Return why there is less plaintext than possible, at the end."""
        if self._keying.is_ready and self._keying.why:
            return self._keying.why
        if any(side.waiting for side in self.sides):
            return NO_SERVER_HELLO if self._handshake.is_asking else UNFINISHED
        if self.info.is_decrypted:
            is_heard = all(side.has_opened or side.protection is None for side in self.sides)
            return "" if is_heard or not self._keying.is_guessing else NOTHING_OPENS
        if all(side.is_finished for side in self.sides):
            return ""  # it carried no data
        return NOTHING_OPENS if self._keying.is_guessing else UNFINISHED

    def give_up(self, why: str) -> None:
        """No plaintext any more, for a reason."""
        if self.info.why is not None:
            return
        self.info.why = why
        for side in self.sides:
            side.waiting.clear()
            side.is_shut = True
        self._opaque()

    # records that wait

    def _is_readable(self, side: TlsSide, record: Record) -> bool:
        """Return whether a record can be read by now, with keys or because it needs none."""
        handshake = self._handshake
        is_clients = side.direction == handshake.client
        if self._keying.is_ready:
            return not is_clients or handshake.early_data is not EarlyData.OFFERED
        if is_clients and handshake.is_asking and not handshake.is_renegotiation:
            return record.kind in (ContentType.CHANGE_CIPHER_SPEC, ContentType.ALERT)
        if handshake.server_hello is None or not handshake.is_protected(side.direction, record.kind):
            return True
        if not self._keying.arm(self.sides):
            return False
        return not is_clients or handshake.early_data is not EarlyData.OFFERED

    def _is_refused_before_retry(self, side: TlsSide, record: Record) -> bool:
        """Return whether a record is early data that the server refused by asking for another hello."""
        handshake = self._handshake
        return (
            handshake.server_hello is None
            and handshake.early_data is EarlyData.REFUSED
            and side.direction == handshake.client
            and record.kind == ContentType.APPLICATION_DATA
        )

    def _waits_for_keys(self) -> bool:
        """Return whether a record waits that only secrets can open."""
        is_answered = self._handshake.server_hello is not None
        return is_answered and not self._keying.is_ready and any(side.waiting for side in self.sides)

    def _wait(self, side: TlsSide, record: Record) -> None:
        handshake = self._handshake
        self._waiting_bytes += len(record.body)
        is_hopeless = self._keying.is_hopeless and handshake.server_hello is not None
        # A client that refuses the certificate of TLS 1.3 may say so in plaintext: its first record shows.
        is_hopeless &= not handshake.is_13 or side.direction == handshake.client
        if self._waiting_bytes > WAITING_BYTES or (is_hopeless and not self._keying.is_ready):
            self.give_up(NO_SERVER_HELLO if handshake.is_asking else self._keying.why or UNFINISHED)
            return
        self._records += 1
        side.waiting.append((self._records, record))

    def _go_on(self) -> None:
        """Take the records that need not wait any more, in the order in which they came."""
        while self._waiting_bytes:
            ready = [
                side for side in self.sides if side.waiting and self._is_readable(side, side.waiting[0][1])
            ]
            if not ready:
                return
            side = min(ready, key=lambda one: one.waiting[0][0])
            _, record = side.waiting.popleft()
            self._waiting_bytes -= len(record.body)
            self._take(side, record)

    # records

    def _take(self, side: TlsSide, record: Record) -> None:
        if self._is_refused_before_retry(side, record):
            return
        if side.protection is None or (self._handshake.is_13 and record.kind != ContentType.APPLICATION_DATA):
            if self._keying.is_partial and record.kind == ContentType.APPLICATION_DATA:
                self._without_keys()
            else:
                self._take_plain(side, record.kind, record.body, record)
            return
        plain = self._open(side, record)
        if plain is None:
            self._bad(side, record)
            return
        side.bad_in_a_row = 0
        if plain.kind == ContentType.APPLICATION_DATA and self._keying.is_partial:
            self.give_up(self._keying.why)
        elif plain.kind == ContentType.APPLICATION_DATA:
            self.info.is_decrypted = True
            side.give(plain, record)
        else:
            self._take_plain(side, plain.kind, plain.content, record)

    def _without_keys(self) -> None:
        """Count a record of a direction whose keys the log lacks."""
        self._unopened += 1
        if self._unopened > _GUESSED_RECORDS:
            self.give_up(self._keying.why)

    def _open(self, side: TlsSide, record: Record) -> Plain | None:
        protection = side.protection
        plain = None if protection is None else protection.open(record)
        if plain is not None and protection is not None:
            protection.number += 1
            side.has_opened = True
            side.is_finished |= self._keying.is_guessing
        return plain

    def _bad(self, side: TlsSide, record: Record) -> None:
        """Count a record that does not open. It costs its own bytes."""
        protection = side.protection
        side.bad_in_a_row += 1
        is_first = not side.has_opened
        if is_first and side.bad_in_a_row <= self._passed_over(side):
            return
        last = record.pieces[-1]
        self.info.bad_records += 1
        self._note(AnomalyKind.TLS_BAD_RECORD, "the record does not open", last.ref, last.time_ns)
        if is_first:
            self.give_up(WRONG_SECRETS)
        elif side.bad_in_a_row >= _BAD_RECORDS_IN_A_ROW or protection is None:
            self.give_up(f"{_BAD_RECORDS_IN_A_ROW} records in a row do not open")
        else:
            protection.number += 1
            overhead = protection.overhead
            lost = UNKNOWN_LENGTH if overhead is None else max(0, len(record.body) - overhead)
            side.sink.gap(lost, False, last.ref, last.time_ns)

    def _passed_over(self, side: TlsSide) -> int:
        """Return how many records may not open before the first one that does."""
        is_clients = side.direction == self._handshake.client
        if is_clients and not side.is_finished and self._handshake.early_data is EarlyData.REFUSED:
            return _SKIPPED_RECORDS
        return _GUESSED_RECORDS if self._keying.is_guessing else 0

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
            if not self._handshake.is_13 and side.coming:
                side.switch()
                side.is_finished = False
        elif kind == ContentType.ALERT:
            last = record.pieces[-1]
            text = self._handshake.alert(side.direction, content, last.time_ns)
            if text:
                self._note(AnomalyKind.TLS_ALERT, text, last.ref, last.time_ns)
        elif self._handshake.server_hello is None:
            self.give_up(NO_HANDSHAKE if self._handshake.client is None else NO_SERVER_HELLO)

    def _message(self, side: TlsSide, kind: int, body: bytes) -> None:
        if kind == HandshakeType.CLIENT_HELLO and side.is_finished:
            if self._handshake.is_13:
                self.give_up("a ClientHello inside TLS 1.3")
                return
            self._handshake = Handshake(self.info, is_renegotiation=True)
            self._keying = Keying(self._handshake, self._secrets)
        try:
            why = self._handshake.message(side.direction, kind, body)
        except ShortMessageError as error:
            why = f"malformed handshake: {error}"
        if why:
            self.give_up(why)
        elif kind == HandshakeType.ENCRYPTED_EXTENSIONS and not side.is_finished:
            self._decide_early_data(self.sides[1 - side.direction])
        elif kind == HandshakeType.END_OF_EARLY_DATA and side.coming and not side.is_finished:
            side.switch()
        elif kind == HandshakeType.FINISHED and not side.is_finished:  # after the handshake: of a certificate
            side.is_finished = True
            if self._handshake.is_13:
                side.switch()
        elif kind == HandshakeType.KEY_UPDATE and isinstance(side.protection, Aead13):
            side.protection = side.protection.updated()

    def _decide_early_data(self, client: TlsSide) -> None:
        """Give early data that the server accepts its own keys. The client's other keys come after them."""
        if self._handshake.early_data is not EarlyData.ACCEPTED:
            return
        if self._keying.early_data is None:
            self.give_up(lacks((EARLY,)))
            return
        client.coming.insert(0, client.protection)
        client.protection = self._keying.early_data
