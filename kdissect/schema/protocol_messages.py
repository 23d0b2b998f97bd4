"""Every message of the protocol, read lazily: a file is opened when its API is first asked for.

`messages/NN_name.schema` holds the request and the response of API NN, `headers.schema` both headers,
`payloads/name.schema` a record or a format inside a bytes field. The key and the value of a coordinator's
record share a file. API keys and names come from the file names, so that listing them opens no file.
"""

from functools import cache

from kdissect.model.errors import SchemaError
from kdissect.schema.fact_tables import file_names, read_text
from kdissect.schema.schema_parser import camel_case, parse_schema, snake_case
from kdissect.schema.types import Api, Field, Message, MessageKind

_SUFFIX = ".schema"
CONTROLLED_SHUTDOWN = 7
API_VERSIONS = 18


def api(api_key: int) -> Api | None:
    """Return the API with this key, or None if Kafka never had it."""
    return _load_api(api_key) if api_key in _stems() else None


def api_by_name(name: str) -> Api | None:
    """Return the API of this name in any case: `Fetch`, `fetch`, `FetchRequest`, or None if Kafka never had
    it.
    """
    key = _keys_by_name().get(_bare(name))
    return None if key is None else api(key)


def all_apis() -> tuple[Api, ...]:
    """Return every API, by key. Parses every file."""
    return tuple(_load_api(key) for key in sorted(_stems()))


def api_keys() -> frozenset[int]:
    """Return the key of every API. Opens no file."""
    return _key_set()


def api_name(api_key: int) -> str | None:
    """Return the name of an API (`Fetch`), None if unknown. Opens no file."""
    stem = _stems().get(api_key)
    return None if stem is None else _name(stem)


def request_message(api_key: int) -> Message | None:
    """Return the request of an API, None if the API is unknown."""
    found = api(api_key)
    return found.request if found else None


def response_message(api_key: int) -> Message | None:
    """Return the response of an API, None if the API is unknown."""
    found = api(api_key)
    return found.response if found else None


def header_message(name: str) -> Message:
    """`RequestHeader` or `ResponseHeader`. Raises KeyError for any other name."""
    return _headers()[name]


def payload(name: str) -> Message:
    """Return a record or embedded payload by its official name (`ConsumerProtocolAssignment`).

    Raises KeyError if there is none.
    """
    stem = _payload_stem(name)
    if stem not in _payload_stems():
        raise KeyError(name)
    return _load_payloads(stem)[name]


def all_payloads() -> tuple[Message, ...]:
    """Return every record and payload, by file. Parses every payload file."""
    return tuple(message for stem in sorted(_payload_stems()) for message in _load_payloads(stem).values())


def api_source(api_key: int) -> str:
    """Return the text of an API's schema file. Raises KeyError if the API is unknown."""
    return read_text(f"messages/{_stems()[api_key]}{_SUFFIX}")


def _payload_stem(name: str) -> str:
    """Return the file of a payload: its snake_case name without `_key` and `_value`."""
    stem = snake_case(name)
    return stem.removesuffix("_key").removesuffix("_value")


def _bare(name: str) -> str:
    return name.casefold().removesuffix("request").removesuffix("response")


@cache
def _stems() -> dict[int, str]:
    """Return a dict from API key to file name without its suffix."""
    stems: dict[int, str] = {}
    for stem in _list("messages"):
        number = stem.partition("_")[0]
        if not number.isdigit() or int(number) in stems:
            raise SchemaError(
                f"messages/{stem}{_SUFFIX}:1: file names are NN_name{_SUFFIX}, one for each API key"
            )
        stems[int(number)] = stem
    return stems


@cache
def _name(stem: str) -> str:
    return camel_case(stem.partition("_")[2])


@cache
def _keys_by_name() -> dict[str, int]:
    return {_name(stem).casefold(): key for key, stem in _stems().items()}


@cache
def _key_set() -> frozenset[int]:
    return frozenset(_stems())


@cache
def _payload_stems() -> frozenset[str]:
    return frozenset(_list("payloads"))


def _list(folder: str) -> list[str]:
    return [name.removesuffix(_SUFFIX) for name in file_names(folder) if name.endswith(_SUFFIX)]


def _read(path: str) -> list[Message]:
    """Parse one file of the schema; `path` is relative to the schema folder and names it in errors."""
    return parse_schema(read_text(path), path)


@cache
def _headers() -> dict[str, Message]:
    return {message.name: message for message in _read(f"headers{_SUFFIX}")}


@cache
def _load_payloads(stem: str) -> dict[str, Message]:
    return {message.name: message for message in _read(f"payloads/{stem}{_SUFFIX}")}


@cache
def _load_api(api_key: int) -> Api:
    path = f"messages/{_stems()[api_key]}{_SUFFIX}"
    by_kind = {message.kind: message for message in _read(path)}
    try:
        request, response = by_kind[MessageKind.REQUEST], by_kind[MessageKind.RESPONSE]
    except KeyError as missing:
        raise SchemaError(f"{path}:1: no {missing.args[0]} in this file") from None
    return Api(api_key, request.name.removesuffix("Request"), request, response)


# The header version before a body: the only module that knows it, for decoders and for the grammar.
def request_header_version(request: Message, version: int) -> int:
    """Return the RequestHeader version of a request: 2, with tags, if flexible (KIP-482), else 1, and 0
    once.
    """
    if request.api_key == CONTROLLED_SHUTDOWN and version == 0:
        # Written before clients had ids: org.apache.kafka.common.protocol.ApiKeys#requestHeaderVersion (3.9)
        return 0
    return 2 if request.is_flexible(version) else 1


def response_header_version(response: Message, version: int) -> int:
    """Return the ResponseHeader version of a response: 1 with tags if flexible (KIP-482), else 0."""
    if response.api_key == API_VERSIONS:
        # A client that does not know the broker yet must be able to read it whatever it asked for (KIP-511).
        return 0
    return 1 if response.is_flexible(version) else 0


def is_never_compact(message: Message, field: Field) -> bool:
    """Return whether a string keeps its int16 length in flexible versions: a request header's client id
    alone.

    It precedes the tags, so that a broker can read who sends a version it does not know (KIP-511).
    """
    return message.kind is MessageKind.HEADER and field.name == "client_id"
