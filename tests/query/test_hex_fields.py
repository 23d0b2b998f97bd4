"""The bytes of frames as fields: `request.hex` and `response.hex`."""

from __future__ import annotations

import json

import pytest

from kdissect.api import Dissection
from kdissect.query import FilterError, compile_filter
from tests.support.console import CAPTURES, run

LOGIN = str(CAPTURES / "kafka44_java_sasl.pcapng")
LOGGED = str(CAPTURES / "kafka44_java_admin.requests.log.gz")
PASSWORD = b"alice-pw-19c2".hex()


def printed(*words: str) -> list[dict[str, str]]:
    ran = run("inspect", *words, "--format", "jsonl")
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def test_the_bytes_are_those_of_the_frame() -> None:
    rows = printed(LOGIN, "-e", "request.hex,response.hex", "--show-secrets")
    exchanges = list(Dissection(LOGIN))
    for row, exchange in zip(rows, exchanges, strict=True):
        for side, frame in (("request", exchange.request), ("response", exchange.response)):
            expected = None if frame is None else (len(frame.data).to_bytes(4) + frame.data).hex()
            assert row[f"{side}.hex"] == expected


def test_secrets_are_blanked() -> None:
    choice = (LOGIN, "-Y", "api == SaslAuthenticate", "-e", "request.hex")
    shown, hidden = printed(*choice, "--show-secrets"), printed(*choice)
    assert any(PASSWORD in row["request.hex"] for row in shown)
    assert not any(PASSWORD in row["request.hex"] for row in hidden)
    assert not printed(LOGIN, "-Y", f"request.hex contains {PASSWORD}", "--show-secrets", "-e", "api")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("request.hex contains 0x{}", 2), ("request.hex contains '{}'", 2), ("request.hex ~ '{}'", 2),
        ("request.hex !~ '{}'", 0), ("request.hex contains 0{}0", 0),
    ],
)  # fmt: skip
def test_bytes_are_found(text: str, count: int) -> None:
    exchanges = [each for each in Dissection(LOGIN) if each.api_key == 36][:2]
    test = compile_filter(text.format("0024" + exchanges[0].api_version.to_bytes(2).hex())).bind()
    assert sum(map(test, exchanges)) == count


def test_whole_bytes_are_needed() -> None:
    with pytest.raises(FilterError, match="is no hex: two digits for each byte"):
        compile_filter("request.hex contains 123")


def test_a_request_log_has_no_bytes() -> None:
    assert not printed(LOGGED, "-Y", "request.hex or response.hex")
