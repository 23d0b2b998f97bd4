"""Which bytes of a frame's tree a level of redaction takes away."""

import hashlib
import secrets
from collections.abc import Callable
from enum import IntEnum

from kdissect.decoders.trees.node import Node
from kdissect.engine.secrets.patches import Patch
from kdissect.schema.logs import METADATA_TOPIC
from kdissect.schema.types import Array, Field, Primitive

# Kafka's own topics: their names reveal nothing, and what is in them is understood by their names.
_KAFKAS_OWN = frozenset(
    {METADATA_TOPIC.encode(), b"__consumer_offsets", b"__transaction_state", b"__share_group_state"}
)
_PRINCIPAL = b"User:"  # org.apache.kafka.common.security.auth.KafkaPrincipal#USER_TYPE
# Names remembered so that no two get the same replacement, some 150 bytes each. Later names may, seldom.
_MAX_NAMES = 1 << 18
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_TRIES = 1000  # names of one letter have only 26 replacements


# Names replaced by other names of equal length, the same name always by the same replacement.
class Names:
    """Replacements by a hash with a key that is created for each run and not stored. A replacement does not
    reveal the name, nor whether two files name the same thing.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)
        self._known: dict[bytes, bytes] = {}
        self._taken: set[bytes] = set()

    def replaced(self, name: bytes) -> bytes:
        """Return lowercase letters in place of a name. Numbers, `*` and Kafka's own topics stay."""
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


class Level(IntEnum):
    """Level of redaction. Each level includes the levels before it, but for client ids with personal data:
    `PAYLOAD` keeps them.
    """

    SECRETS = 0
    PERSONAL = 1
    PAYLOAD = 2
    NAMES = 3


_TOKEN = "saslToken"
# These parts of SASL tokens do not identify a person, and readers need them.
_TOKEN_FRAME = frozenset({"channel_binding", "iterations", "mechanism"})
_TOKEN_AUTH = "tokenauth"  # KIP-48: the name of SCRAM's one extension, which reads as no message without it
_BASE64 = frozenset({"proof", "salt", "verifier"})  # RFC 5802 section 5.1
# Text of users, and of brokers about content that users sent.
_TEXTS = frozenset({
    "acknowledge_error_message", "batch_index_error_message", "committed_metadata", "error_message",
    "metadata", "reason", "status_detail",
})  # fmt: skip
# Text that is no name made by people: of software, of the protocol, of states.
_NO_NAMES = frozenset({
    "assignor_name", "client_software_name", "client_software_version", "configuration_keys",
    "documentation", "entity_type", "feature", "group_state", "group_type", "mechanism", "mechanisms",
    "owner_principal_type", "principal_type", "protocol", "protocol_data", "protocol_name", "protocol_type",
    "requested_metrics", "server_assignor", "state_filters", "token_requester_principal_type",
    "transaction_state", "type", "types_filter", "unknown_state_filters",
})  # fmt: skip
# Structs whose field `name` is such a text too. The name of a config depends on the value next to it.
_NO_NAMES_IN = frozenset(
    {"ClassicProtocol", "Feature", "FinalizedFeatureKey", "JoinGroupRequestProtocol", "SupportedFeatureKey"}
)
# Fields that may have the personal data of a client: a member id begins with the client id.
_OF_CLIENTS = ("client_id", "leader", "member_id", "principal", "transactional_id")
_NO_ERROR = "NONE"  # old brokers' message next to error code 0
_PLUMBING = frozenset({"length", "count", "marker", "tag", "size", "version"})


class FieldRedaction:
    """Walker of a tree. `blanks` and `patches` are its results.

    `personal` removes the personal data of a name: the level is `PERSONAL`.
    """

    def __init__(
        self, level: Level, data: bytes, names: Names, personal: Callable[[bytes], bytes] | None = None
    ) -> None:
        self._level = level
        self._data = data
        self._names = names
        self._personal = personal
        self.blanks: list[tuple[int, int]] = []
        self.patches: list[Patch] = []

    def walk(self, node: Node, parent: Node | None = None, in_token: bool = False) -> None:
        """Take a node and what is below it."""
        field = node.field
        if field is not None and field.type is Primitive.RECORDS:
            return
        in_token = in_token or (field is not None and field.payload == _TOKEN)
        if node.name == "rest" or self._is_unknown_tag(node, parent):
            self.blanks.append((node.start, node.end))
        elif node.children and node.children[-1].name == "content" and field is not None:
            self._value(field, node.children[-1], parent, in_token)
        elif node.children:
            for child in node.children:
                self.walk(child, node, in_token)
        elif node.name not in _PLUMBING:
            self._leaf(node, in_token)

    def _is_unknown_tag(self, node: Node, parent: Node | None) -> bool:
        return node.name == "content" and parent is not None and parent.type == "tag"

    def _value(self, field: Field, content: Node, parent: Node | None, in_token: bool) -> None:
        """Redact a string or bytes."""
        if content.value == _NO_ERROR:
            return
        if in_token or (self._level >= Level.PAYLOAD and self._is_payload(field, content)):
            self.blanks.append((content.start, content.end))
        elif self._level is Level.NAMES and self._is_name(field, parent):
            name = self._data[content.start : content.end]
            self.patches.append(Patch(content.start, self._names.replaced(name)))
        elif self._personal is not None and _is_of_client(field):
            name = self._data[content.start : content.end]
            self.patches.append(Patch(content.start, self._personal(name)))

    def _is_payload(self, field: Field, content: Node) -> bool:
        return content.type == Primitive.BYTES or field.is_config_value or field.name in _TEXTS

    def _is_name(self, field: Field, parent: Node | None) -> bool:
        if field.enum is not None or field.name in _NO_NAMES:
            return False
        if field.name != "name" or field.entity is not None or parent is None:
            return True
        is_config = any(child.field is not None and child.field.is_config_value for child in parent.children)
        return not is_config and parent.type not in _NO_NAMES_IN

    def _leaf(self, node: Node, in_token: bool) -> None:
        """Redact a part of a payload that is not a usual field: of a token, or all of an opaque payload."""
        if in_token:
            if node.name not in _TOKEN_FRAME and node.value != _TOKEN_AUTH:
                self._token_part(node)
        elif self._level >= Level.PAYLOAD and _is_text(node):
            self.blanks.append((node.start, node.end))

    def _token_part(self, node: Node) -> None:
        """Redact the value, without the key and the comma around it, and without base64's padding."""
        if isinstance(node.value, int):
            return
        start, end = node.start, node.end
        if isinstance(node.value, str | bytes):
            value = node.value.encode() if isinstance(node.value, str) else bytes(node.value)
            if node.name in _BASE64:
                value = value.rstrip(b"=")
            at = self._data.rfind(value, node.start, node.end)  # a key is before it
            if at >= 0:
                start, end = at, at + len(value)
        if end - start > 1 or self._data[start:end].isalnum():  # a separator alone is no value
            self.blanks.append((start, end))


def _is_of_client(field: Field) -> bool:
    """Return whether a field is a client id, has one in it, or is a principal."""
    return any(part in field.name for part in _OF_CLIENTS) and field.name not in _NO_NAMES


def _is_text(node: Node) -> bool:
    """Return whether a node without parts is text or bytes: numbers and ids may stay."""
    if node.field is None:
        return node.type == "payload" or isinstance(node.value, str | bytes)
    kind = node.field.type.element if isinstance(node.field.type, Array) else node.field.type
    return kind in (Primitive.STRING, Primitive.BYTES)
