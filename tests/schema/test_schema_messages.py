"""What the registry finds, and that it opens no file it does not need."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kdissect.schema import protocol_messages, releases
from kdissect.schema.protocol_messages import is_never_compact
from kdissect.schema.types import Array, Field, Message, Struct

# The text of each API, and the first key that none has.
SCHEMAS = sorted((Path(protocol_messages.__file__).parent / "messages").glob("*.schema"))
UNKNOWN = max(int(path.name.partition("_")[0]) for path in SCHEMAS) + 1
# Run in a fresh interpreter: prints the files that a call opened.
OPENED = """
import builtins, sys
opened = []
real = builtins.open
def spy(file, *args, **kwargs):
    if str(file).endswith((".schema", ".table")):
        opened.append(str(file))
    return real(file, *args, **kwargs)
builtins.open = spy
from kdissect.schema.protocol_messages import *
{call}
print(len(opened), "pathlib" in sys.modules, "dataclasses" in sys.modules)
"""


@pytest.mark.parametrize(
    ("call", "files"),
    [
        ("api_keys(); api_name(1); api(32000)", 0),
        ("api(1); api(1); api_by_name('fetch')", 1),
        ("payload('ConsumerProtocolAssignment')", 1),
        ("header_message('RequestHeader'); header_message('ResponseHeader')", 1),
        ("all_apis()", len(SCHEMAS)),
    ],
)
def test_only_what_is_asked_for_is_opened(call: str, files: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", OPENED.format(call=call)], capture_output=True, text=True, check=True
    )
    assert run.stdout.split()[0] == str(files)


def test_every_api() -> None:
    apis = protocol_messages.all_apis()
    assert [api.key for api in apis] == list(range(UNKNOWN))  # Apache Kafka leaves no key out
    assert protocol_messages.api_keys() == frozenset(range(UNKNOWN))
    for api in apis:
        known = releases.history(api.key)
        assert known is not None
        assert list(known.since) == list(range(api.versions.first, api.versions.last + 1))
        assert protocol_messages.api_name(api.key) == api.name
        assert protocol_messages.request_message(api.key) is api.request
        assert protocol_messages.response_message(api.key) is api.response


@pytest.mark.parametrize("name", ["Fetch", "fetch", "FETCH", "FetchRequest", "fetchresponse"])
def test_names_in_any_form(name: str) -> None:
    found = protocol_messages.api_by_name(name)
    assert found is not None
    assert found.key == 1


def test_what_does_not_exist() -> None:
    assert protocol_messages.api(UNKNOWN) is None
    assert protocol_messages.api(-1) is None
    assert protocol_messages.api_name(UNKNOWN) is None
    assert protocol_messages.request_message(UNKNOWN) is None
    assert protocol_messages.response_message(UNKNOWN) is None
    assert protocol_messages.api_by_name("Fetches") is None
    with pytest.raises(KeyError):
        protocol_messages.header_message("Header")
    with pytest.raises(KeyError):
        protocol_messages.payload("TopicRecordKey")
    with pytest.raises(KeyError):
        protocol_messages.payload("Nothing")


def test_payloads_by_name() -> None:
    folder = Path(protocol_messages.__file__).parent / "payloads"
    told = re.findall(
        r"^(?:record|payload|text) ", "".join(path.read_text() for path in folder.glob("*.schema")), re.M
    )
    assert len(protocol_messages.all_payloads()) == len(told)
    for message in protocol_messages.all_payloads():
        assert protocol_messages.payload(message.name) is message


def test_comments_tell_what_the_table_knows() -> None:
    """`# gone: 0-3 in 4.0` beside a block and `releases.table` say the same."""
    for api in protocol_messages.all_apis():
        history = releases.history(api.key)
        assert history is not None
        comments = re.findall(
            r"^(?:request|response) .*# gone: (\S+) in (\S+)$", protocol_messages.api_source(api.key), re.M
        )
        expected = [(str(history.gone), history.gone_in)] * 2 if history.gone_in else []
        assert comments == expected, api.name


def every_field(struct: Struct, seen: set[int]) -> list[Field]:
    found = list(struct.fields)
    seen.add(id(struct))
    for field in struct.fields:
        element = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(element, Struct) and id(element) not in seen:
            found += every_field(element, seen)
    return found


def messages() -> list[Message]:
    found = [message for api in protocol_messages.all_apis() for message in (api.request, api.response)]
    headers = [protocol_messages.header_message(name) for name in ("RequestHeader", "ResponseHeader")]
    return found + headers + list(protocol_messages.all_payloads())


SECRETS = {
    "AlterUserScramCredentialsRequest.salt",
    "AlterUserScramCredentialsRequest.salted_password",
    "CreateDelegationTokenResponse.hmac",
    "DescribeDelegationTokenResponse.hmac",
    "EnvelopeRequest.request_data",
    "EnvelopeResponse.response_data",
    "ExpireDelegationTokenRequest.hmac",
    "RenewDelegationTokenRequest.hmac",
    "SaslAuthenticateRequest.auth_bytes",
    "SaslAuthenticateResponse.auth_bytes",
    "SaslGssapi.token",
    "SaslOauthbearer.token",
    "SaslPlain.passwd",
    "SaslScramClientFinal.proof",
    "SaslScramServerFinal.verifier",
    "SaslScramServerFirst.salt",
    "UserScramCredentialRecord.salt",
    "UserScramCredentialRecord.server_key",
    "UserScramCredentialRecord.stored_key",
}


def test_secrets_are_marked() -> None:
    found = {
        f"{message.name}.{field.name}"
        for message in messages()
        for field in every_field(message.root, set())
        if field.is_secret
    }
    assert found == SECRETS


def test_only_the_client_id_is_never_compact() -> None:
    found = [
        (message.name, field.name)
        for message in messages()
        for field in message.root.fields
        if is_never_compact(message, field)
    ]
    assert found == [("RequestHeader", "client_id")]


def test_topics_are_marked() -> None:
    """Every uuid or string that is plainly a topic's carries its entity: projections rely on it."""
    for message in messages():
        for field in every_field(message.root, set()):
            if field.name in ("topic_id", "topic_ids"):
                assert field.entity == "topicId", (message.name, field)
            if field.name in ("topic", "topic_name") and field.type == "string":
                assert field.entity == "topicName", (message.name, field)
