"""Names replaced by others of the same length, the same name always by the same other one."""

import hashlib
import secrets

from kdissect.schema.metadata_topic import METADATA_TOPIC

# Kafka's own topics: their names reveal nothing, and what is in them is understood by their names.
_KAFKAS_OWN = frozenset(
    {METADATA_TOPIC.encode(), b"__consumer_offsets", b"__transaction_state", b"__share_group_state"}
)
_PRINCIPAL = b"User:"  # org.apache.kafka.common.security.auth.KafkaPrincipal#USER_TYPE
# Names remembered so that no two get the same replacement, some 150 bytes each; later ones may, seldom.
_MAX_NAMES = 1 << 18
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_TRIES = 1000  # names of one letter have only 26 replacements


class Names:
    """Replacements by a hash with a key that is made up for each run and kept nowhere: nobody can find the
    name from its replacement, nor whether two files name the same.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)
        self._known: dict[bytes, bytes] = {}
        self._taken: set[bytes] = set()

    def replaced(self, name: bytes) -> bytes:
        """Lowercase letters in place of a name; numbers, `*` and Kafka's own topics stay."""
        if name in _KAFKAS_OWN or not any(byte > 0x7F or chr(byte).isalpha() for byte in name):
            return name
        if name.startswith(_PRINCIPAL):
            return _PRINCIPAL + self.replaced(name[len(_PRINCIPAL) :])
        known = self._known.get(name)
        if known is not None:
            return known
        made = self._made(name)
        if len(self._known) < _MAX_NAMES:
            self._known[name] = made
            self._taken.add(made)
        return made

    def _made(self, name: bytes) -> bytes:
        for salt in range(_TRIES):
            made = self._letters(name, salt)
            if made not in self._taken and made != name:
                break
        return made

    def _letters(self, name: bytes, salt: int) -> bytes:
        seed = hashlib.blake2b(name, key=self._key, salt=salt.to_bytes(16)).digest()
        stream = hashlib.shake_256(seed).digest(len(name))
        return bytes(_LETTERS[byte % len(_LETTERS)] for byte in stream)
