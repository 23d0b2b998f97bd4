"""README.md and docs/schema.md have the numbers of APIs, versions and bodies in the schema, and of rules.

`python -m tests.regenerate schema` writes the numbers.
"""

import os
import re

import pytest

from kdissect.rules.registry import ALL_RULES
from kdissect.schema import protocol_messages
from tests.support.console import CHECKOUT

APIS = protocol_messages.all_apis()
API_VERSIONS = sum(api.versions.last - api.versions.first + 1 for api in APIS)
# The words after each number, and the number.
COUNTS = {
    "README.md": (
        (r" APIs", len(APIS)),
        (r" API versions", API_VERSIONS),
        (r" rules to clients", len(ALL_RULES)),
    ),
    "docs/schema.md": (
        (r" APIs", len(APIS)),
        (r" API versions", API_VERSIONS),
        (r" request and response\s+bodies", 2 * API_VERSIONS),
        (r" records and payloads", len(protocol_messages.all_payloads())),
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_those_of_the_schema(name: str) -> None:
    page = CHECKOUT / name
    text = page.read_text()
    for noun, number in COUNTS[name]:
        pattern = rf"\d+(?={noun})"
        assert re.search(pattern, text), f"{name} must say how many{noun}"
        text = re.sub(pattern, str(number), text)
    if os.environ.get("KDISSECT_UPDATE"):
        page.write_text(text)
    assert page.read_text() == text, "python -m tests.regenerate schema"
