"""Secrets of TLS sessions, as TLS libraries log them for debugging.

Format: NSS key log, draft-ietf-tls-keylogfile "The SSLKEYLOGFILE Format": lines `LABEL CLIENT_RANDOM SECRET`,
the last two in hex; `#` begins a comment. Older lines, which agents for Java still write of TLS 1.2, name the
session by the id in its ServerHello: `RSA Session-ID:ID Master-Key:SECRET`.
"""

_RANDOM_BYTES = 32  # of a hello, RFC 8446 section 4.1.2
# Sessions kept: about 1 KB each. A broker that logs for a day at 10 new connections a second stays below.
MAX_SESSIONS = 1 << 20
_MAX_SECRET = 255  # bytes. The longest in use is 48, a TLS 1.2 master secret or a SHA-384 hash
# Longest line: a label and twice the bytes above. What is longer without a line end is no key log.
MAX_LINE = 1024
MASTER_SECRET = "CLIENT_RANDOM"  # the label of TLS 1.2
_LABELS = frozenset(
    {
        MASTER_SECRET,
        "CLIENT_EARLY_TRAFFIC_SECRET",
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    }
)


_ID, _MASTER = b"Session-ID:", b"Master-Key:"


class KeyLog:
    """Secrets by the client random of their session. `feed()` it text as it comes. Lines may be cut anywhere.

    `bad_lines` counts lines that are not of a key log, `dropped` sessions beyond the limit.
    """

    def __init__(self) -> None:
        self.bad_lines = 0
        self.dropped = 0
        self._sessions: dict[bytes, dict[str, bytes]] = {}
        self._by_id: dict[bytes, dict[str, bytes]] = {}
        self._rest = b""
        self._is_too_long = False  # the current line, already counted

    def __len__(self) -> int:
        return len(self._sessions) + len(self._by_id)

    def find(self, client_random: bytes, session_id: bytes = b"") -> dict[str, bytes] | None:
        """Return the secrets of a session by label; None if it is unknown."""
        found = self._sessions.get(client_random)
        return found or self._by_id.get(session_id, found)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of a log."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._whole_line(line)
        if len(self._rest) > MAX_LINE:
            self.bad_lines += not self._is_too_long
            self._is_too_long = True
        if self._is_too_long:
            self._rest = b""

    def close(self) -> None:
        """End the log: a last line need not have an end."""
        rest, self._rest = self._rest, b""
        self._whole_line(rest)

    def _whole_line(self, line: bytes) -> None:
        if self._is_too_long:
            self._is_too_long = False
        elif len(line) > MAX_LINE:
            self.bad_lines += 1
        else:
            self._line(line.strip())

    def _line(self, line: bytes) -> None:
        if not line or line.startswith(b"#"):
            return
        words = line.split()
        try:
            if words[0] == b"RSA" and words[1].startswith(_ID):
                self._add_by_id(_hex(words[1].removeprefix(_ID)), _hex(words[2].removeprefix(_MASTER)))
                return
            label, random, secret = words[0].decode(), _hex(words[1]), _hex(words[2])
        except (IndexError, ValueError):
            self.bad_lines += 1
            return
        self._add(label, random, secret)

    def _add_by_id(self, session_id: bytes, secret: bytes) -> None:
        if len(self._by_id) >= MAX_SESSIONS:
            self.dropped += 1
        elif session_id:
            self._by_id[session_id] = {MASTER_SECRET: secret}

    def _add(self, label: str, random: bytes, secret: bytes) -> None:
        if len(random) != _RANDOM_BYTES or not 0 < len(secret) <= _MAX_SECRET:
            self.bad_lines += 1
            return
        session = self._sessions.get(random)
        if session is None:
            if len(self._sessions) >= MAX_SESSIONS:
                self.dropped += 1
                return
            session = self._sessions[random] = {}
        if label in _LABELS:  # other labels are not useful here, but show that the log knows the session
            session[label] = secret


def _hex(word: bytes) -> bytes:
    return bytes.fromhex(word.decode())
