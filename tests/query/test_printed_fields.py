"""Where rows of reports have what a filter calls by another name."""

import pytest

from kdissect.query.fields.printed_fields import places_of


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("client.ip", ["client.ip", "address", "addresses", "client.ips", "where.address", "who.addresses"]),
        ("group", ["group", "groups", "where.group", "who.groups"]),
        ("client_id", ["client_id", "client_ids", "where.client_id", "who.client_ids"]),
    ],
)
def test_likeliest_place_first(name: str, places: list[str]) -> None:
    found = places_of(name)
    assert found[0] == name
    assert [place for place in found if place in places] == places
