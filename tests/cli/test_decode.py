"""`kdissect decode`: hex in several notations, trees, JSON, errors."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from kdissect.cli import main
from tests.support.console import run
from tests.support.messages.traffic import request, response

# Metadata v0, correlation id 7, client "me", topics ["t"]: laid out by hand from the protocol guide.
REQUEST = request(3, 0, 7, b"\0\0\0\x01\0\x01t", client_id=b"me")
ERRORS = response(7, b"\0\0\0\0\0\0\0\x01\0\x03\0\x01t\0\0\0\0")  # no brokers, topic "t" with error 3
Decode = Callable[..., tuple[int, str, str]]


@pytest.fixture
def decode(capfd: pytest.CaptureFixture[str]) -> Decode:
    def call(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["decode", *arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def notations() -> dict[str, str]:
    dump = "".join(
        f"{at:08x}: {' '.join(f'{a:02x}' for a in REQUEST[at : at + 16]):48} {'.' * 16}\n"
        for at in range(0, len(REQUEST), 16)
    )
    return {
        "plain": REQUEST.hex(),
        "spaced": REQUEST.hex(" "),
        "escaped": "".join(f"\\x{byte:02x}" for byte in REQUEST),
        "dump": dump,
        "without size": REQUEST[4:].hex(),
    }


@pytest.mark.parametrize("name", notations())
def test_a_request(name: str, decode: Decode) -> None:
    code, out, err = decode(notations()[name])
    assert (code, err) == (0, "")
    assert "request_api_key: int16 = 3 (Metadata)" in out
    assert "correlation_id: int32 = 7" in out
    assert 'name: string = "t"' in out


def test_standard_input() -> None:
    ran = run("decode", "-", stdin=notations()["dump"].encode())
    assert ran.code == 0
    assert 'client_id: string = "me"' in ran.out
    assert run("decode", "-", stdin=b"\xff\xfe binary").code == 2


@pytest.mark.parametrize("api", ["Metadata", "metadata", "3"])
def test_a_response(api: str, decode: Decode) -> None:
    code, out, _ = decode(ERRORS.hex(), "--response", "--api", api, "--api-version", "0")
    assert code == 0
    assert "= 3 (UNKNOWN_TOPIC_OR_PARTITION)" in out


def test_bodies(decode: Decode) -> None:
    for data, side in ((REQUEST[-7:], []), (ERRORS[8:], ["--response"])):
        code, out, _ = decode(data.hex(), "--body", "--api", "Metadata", "--api-version", "0", *side)
        assert code == 0
        assert '"t"' in out


def test_wrong_size_is_told_and_the_rest_decoded(decode: Decode) -> None:
    code, out, err = decode((b"\0\0\0\x63" + REQUEST[4:]).hex())
    assert code == 0
    assert err == f"kdissect: warning: size says 99 bytes, {len(REQUEST) - 4} follow\n"
    assert 'name: string = "t"' in out


def test_what_does_not_fit_is_named(decode: Decode) -> None:
    code, out, err = decode(REQUEST[:-1].hex())
    assert code == 3
    assert 'client_id: string = "me"' in out  # what was decoded before
    assert "MetadataRequest.topics[0].name: " in err
    assert f"at byte {len(REQUEST) - 1}" in err  # where the string's bytes begin
    code, _, err = decode((REQUEST + b"zz").hex())
    assert code == 3
    assert "2 bytes left over" in err


def leaves(node: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for child in node.get("children", ()):
        found |= leaves(child)
    return found or {node["name"]: (node.get("value"), node["start"], node["end"])}


def test_json(decode: Decode) -> None:
    code, out, _ = decode(REQUEST.hex(), "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert (document["bytes"], document["errors"]) == (len(REQUEST), [])
    found = leaves(document["tree"])
    assert found["size"] == (len(REQUEST) - 4, 0, 4)
    assert found["request_api_key"] == (3, 4, 6)
    assert found["client_id"] == ("me", 12, 16)
    assert found["name"] == ("t", 20, 23)
    _, out, _ = decode(REQUEST[:-1].hex(), "--format", "json")
    errors = json.loads(out)["errors"]
    assert [error["path"] for error in errors] == ["size", "MetadataRequest.topics[0].name"]
    assert errors[1]["offset"] == len(REQUEST) - 1


def test_secrets_are_masked(decode: Decode) -> None:
    token = b"\0alice\0opensesame"
    frame = request(36, 0, 1, len(token).to_bytes(4) + token).hex()
    for form in ("tree", "json"):
        _, masked, _ = decode(frame, "--format", form)
        _, shown, _ = decode(frame, "--format", form, "--show-secrets")
        assert "***" in masked
        assert "***" not in shown
        for needle in (token.hex(" "), "AGFsaWNl"):
            assert needle not in masked
