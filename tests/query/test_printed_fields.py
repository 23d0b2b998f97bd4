"""Fields of filters as columns: where rows of reports have them, and their types."""

import pytest

import kdissect
from kdissect.query.binding import Context
from kdissect.query.fields.lookup import UnknownFieldError
from kdissect.query.fields.printed_fields import (
    Behind,
    FieldValues,
    names_behind,
    places_of,
    printed_field,
    type_of,
)
from tests.support.console import TXN


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("client.ip", ["client.ip", "address", "addresses", "client.ips", "where.address", "who.addresses"]),
        ("group", ["group", "groups", "where.group", "who.groups"]),
        ("latency", ["latency", "latency_ns", "latencys", "where.latency", "who.latency_ns"]),
        ("latency_ns", ["latency_ns", "latency", "latency_nss", "where.latency_ns", "who.latency"]),
        ("nothing", ["nothing", "nothings", "where.nothing", "who.nothings"]),
        ("client_id", ["client_id", "client_ids", "where.client_id", "who.client_ids"]),
    ],
)
def test_likeliest_place_first(name: str, places: list[str]) -> None:
    found = places_of(name)
    assert found[0] == name
    assert [place for place in found if place in places] == places


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("request.acks", "int64"),
        ("request.body.acks", "int64"),
        ("request.allow_auto_topic_creation", "bool"),
        ("request.auth_bytes", "string"),
        ("request.topics", "string"),  # JSON
        ("request.topics.name", "list<string>"),
        ("response.topics.topic_id", "list<string>"),
        ("response.responses.partitions.error_code", "list<int64>"),
        ("response.entries.values.value", "list<double>"),
        ("request.protocols.metadata_decoded.topics", "list<string>"),
        ("throttle", "int64"),
        ("rack", "string"),
        ("group", "list<string>"),
        ("topic", "list<string>"),
        ("latency", "int64"),
        ("time", "string"),
        ("client", "string"),
        ("client.port", "int64"),
        ("processes.pid", "list<int64>"),
        ("batch.transactional", "list<bool>"),
    ],
)
def test_types_of_columns(name: str, type_: str) -> None:
    assert type_of(name) == type_


PYTHON = {"int64": int, "bool": bool, "double": float, "string": str}


def test_values_have_the_type_of_their_column() -> None:
    names = [name for name in names_behind(Behind.EXCHANGE) if name != "batch" and not is_of_bodies(name)]
    seen = set()
    types = {name: type_of(name) for name in names}
    values = FieldValues(names, Context(start_ns=lambda: 0, file_names=("txn",)))
    for exchange in kdissect.open(TXN):
        for name, value in values(exchange).items():
            assert isinstance(value, list) is types[name].startswith("list<"), name
            one = PYTHON[types[name].removeprefix("list<").removesuffix(">")]
            for each in value if isinstance(value, list) else [value]:
                assert each is None or type(each) is one, (name, each)
                seen |= {name} if each is not None else set()
    assert {"api", "latency", "client.port", "batch.codec", "topic", "transactional_id", "error"} <= seen


def is_of_bodies(name: str) -> bool:
    """Whole bodies are JSON in tables."""
    return name in ("request.body", "response.body")


def test_columns_of_connections_need_no_exchange() -> None:
    names = sorted(names_behind(Behind.CONNECTION))
    values = FieldValues(names, Context())
    exchange = next(iter(kdissect.open(TXN)))
    assert values.of_connection(exchange.connection) == values(exchange)


def test_rows_with_nothing_behind_them_have_their_own_fields_alone() -> None:
    known = ("offset", "client.ip")
    assert printed_field("client.ip", known, Behind.NOTHING).path == ("client", "ip")
    for name in ("latency", "request.acks", "offsets"):
        with pytest.raises(UnknownFieldError, match=f"no field '{name}'"):
            printed_field(name, known, Behind.NOTHING)


@pytest.mark.parametrize(
    ("name", "known", "behind", "place"),
    [
        ("latency", ("latency_ns",), Behind.NOTHING, ("latency_ns",)),
        ("batch.codec", ("codec",), Behind.NOTHING, ("codec",)),
        ("codec", ("codec",), Behind.NOTHING, ("codec",)),
        ("client.ip", (), Behind.CONNECTION, "made"), ("pod", (), Behind.CONNECTION, "made"),
        ("latency", (), Behind.CONNECTION, None), ("batch", (), Behind.CONNECTION, None),
        ("latency", (), Behind.EXCHANGE_OF_RECORD, "made"), ("group", (), Behind.EXCHANGE_OF_RECORD, "made"),
        ("batch", (), Behind.EXCHANGE_OF_RECORD, None), ("batch", (), Behind.EXCHANGE, "made"),
        ("request", (), Behind.EXCHANGE_OF_RECORD, None),
        ("request.acks", (), Behind.EXCHANGE_OF_RECORD, None),
        ("request.acks", (), Behind.EXCHANGE, ("request", "body", "acks")),
        ("request.body.acks", (), Behind.EXCHANGE, ("request", "body", "acks")),
        ("request.body", (), Behind.EXCHANGE, ("request", "body")),
        ("response.topics.partitions", (), Behind.EXCHANGE, ("response", "body", "topics", "partitions")),
        ("request.protocols.metadata_decoded.x", (), Behind.EXCHANGE,
         ("request", "body", "protocols", "metadata_decoded", "x")),
        ("request.nothing", (), Behind.EXCHANGE, None), ("request.", (), Behind.EXCHANGE, None),
        ("other.acks", (), Behind.EXCHANGE, None), ("request.**.acks", (), Behind.EXCHANGE, None),
    ],
)  # fmt: skip
def test_where_columns_have_their_values(
    name: str, known: tuple[str, ...], behind: Behind, place: tuple[str, ...] | str | None
) -> None:
    if place is None:
        with pytest.raises(UnknownFieldError):
            printed_field(name, known, behind)
        return
    found = printed_field(name, known, behind)
    assert (found.name, found.path, found.is_made) == (
        (name, (name,), True) if place == "made" else (name, place, False)
    )
