"""A registry that is asked while values are read."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

pytest.importorskip("fastavro", reason="needs the extra schemas")
pytest.importorskip("google.protobuf", reason="needs the extra schemas")

from kdissect.cli import main
from kdissect.serdes import registry as registry_module
from kdissect.serdes.faults import SchemaError
from kdissect.serdes.schema_files import load_schemas
from tests.support.console import CAPTURES
from tests.support.http_server import serving, without_proxies

FOLDER = CAPTURES / "schemas"
SAVED: list[dict[str, Any]] = json.loads((FOLDER / "registry" / "schemas.json").read_text())
COLUMNS = "topic,offset,value_schema,value_error,decoded.value"


class Registry:
    """`answers` are by path: contents, a status, or text. `asked` are the requests that came."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, Any] = {"/schemas/types": ["AVRO", "JSON", "PROTOBUF"]}
        self.otherwise: int = 404
        self.asked: list[tuple[str, dict[str, str]]] = []

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


@contextmanager
def listening() -> Iterator[Registry]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append((self.path, dict(self.headers)))
            answer = found.answers.get(unquote(self.path), found.otherwise)
            body = b"" if isinstance(answer, int) else json.dumps(answer).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Location", f"{found.url}/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as url:
        found = Registry(url)
        yield found


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    without_proxies(monkeypatch)
    with listening() as found:
        yield found


def fill(registry: Registry) -> None:
    """Answer as Confluent's registry does with the saved schemas."""
    for one in SAVED:
        subject, version = one["subject"], one["version"]
        body = {name: one[name] for name in ("schema", "schemaType", "references") if name in one}
        registry.answers[f"/subjects/{subject}/versions/{version}"] = one
        if "id" in one:
            registry.answers[f"/schemas/ids/{one['id']}"] = body
            registry.answers[f"/schemas/ids/{one['id']}/versions"] = [
                {"subject": subject, "version": version}
            ]
            registry.answers[f"/schemas/guids/{one['guid']}"] = body | {"guid": one["guid"]}


def lines(capfd: pytest.CaptureFixture[str], schemas: str, filter_text: str) -> tuple[list[str], str]:
    path = str(FOLDER / "schemas.pcap")
    assert main(["records", path, "--schemas", schemas, "-e", COLUMNS, "-Y", filter_text]) == 0
    out, err = capfd.readouterr()
    return out.splitlines(), err


def test_values_are_those_of_the_saved_responses(
    registry: Registry, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(registry)
    in_both = "value_wire_format != glue"
    found, pills = lines(capfd, registry.url, in_both)
    expected, pills_of_saved = lines(capfd, str(FOLDER / "registry"), in_both)
    assert len(found) == len(expected)
    for mine, saved in zip(found, expected, strict=True):
        topic, offset, schema, error, value = saved.split("\t")
        if topic in ("orders-h", "visits-h", "users-h"):
            schema = schema and registry.url  # a response for a GUID names no subject
        assert mine.split("\t") == [topic, offset, schema, error, value]
    assert pills == pills_of_saved
    assert len(registry.paths) == len(set(registry.paths)), "each is asked once"
    assert "/schemas/ids/999" in registry.paths
    assert not any("Authorization" in headers for _, headers in registry.asked)


def test_a_schema_of_several_subjects_has_the_subject_of_the_topic(registry: Registry) -> None:
    registry.answers["/schemas/ids/7"] = {"schema": '"string"'}
    registry.answers["/schemas/ids/7/versions"] = [
        {"subject": "a-value", "version": 1},
        {"subject": "b-value", "version": 4},
        {"subject": "b-key", "version": 2},
    ]
    schemas = load_schemas([registry.url])
    assert schemas.read("a", b"\0\0\0\0\7\2x", (), False).schema == "a-value v1"
    assert schemas.read("b", b"\0\0\0\0\7\2x", (), False).schema == "b-value v4"
    assert schemas.read("b", b"\0\0\0\0\7\2x", (), True).schema == "b-key v2"
    assert schemas.read("c", b"\0\0\0\0\7\2x", (), False).schema == "a-value v1"


@pytest.mark.parametrize("version", [2, 3])
def test_an_apicurio_registry(registry: Registry, version: int) -> None:
    base = f"/apis/registry/v{version}"
    place = "/groups/my%2Fgroup/artifacts/shop.Item/versions/2"
    item = {"type": "record", "name": "Item", "namespace": "shop", "fields": [{"name": "n", "type": "int"}]}
    registry.answers = {
        f"{base}/system/info": {"name": "Apicurio Registry"},
        f"{base}/ids/globalIds/7": {"type": "array", "items": "shop.Item"},
        f"{base}/ids/globalIds/7/references": [
            {"groupId": "my/group", "artifactId": "shop.Item", "version": "2", "name": "shop.Item"}
        ],
        unquote(f"{base}{place}{'/content' if version == 3 else ''}"): item,
        unquote(f"{base}{place}/references"): [],
    }
    schemas = load_schemas([f"{registry.url}{base}/"])
    read = schemas.read("t", b"\0\0\0\0\0\0\0\0\7\2\4\0", (), False)
    assert (read.value, read.wire_format) == ([{"n": 2}], "apicurio")
    assert any("my%2Fgroup" in path for path in registry.paths), "names are quoted"


def test_credentials_come_from_the_environment(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry_module.CREDENTIALS, "me:secret")
    load_schemas([registry.url])
    expected = f"Basic {base64.b64encode(b'me:secret').decode()}"
    assert registry.asked[-1][1]["Authorization"] == expected
    monkeypatch.setenv(registry_module.TOKEN, "T")
    load_schemas([registry.url])
    assert registry.asked[-1][1]["Authorization"] == "Bearer T"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://user:password@localhost", "has no user name in it"),
        ("http://", "the URL of a registry is none"),
        ("http://localhost:x", "the URL of a registry is none"),
    ],
)
def test_addresses_that_make_no_sense(url: str, why: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(why)) as error:
        load_schemas([url])
    assert "password" not in str(error.value)


@pytest.mark.parametrize("answer", [302, 404, 500, {"no": "list"}])
def test_what_is_no_registry_is_a_usage_error(
    registry: Registry, answer: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    registry.answers["/schemas/types"] = answer
    assert main(["records", str(FOLDER / "schemas.pcap"), "--schemas", registry.url]) == 2
    assert "error: --schemas: http://127.0.0.1" in capfd.readouterr().err
    assert registry.paths == ["/schemas/types"], "redirections are not followed"


def test_a_registry_that_fails_is_asked_three_times(registry: Registry) -> None:
    schemas = load_schemas([registry.url])
    registry.otherwise = 503
    errors = [schemas.read("t", bytes((0, 0, 0, 0, id_, 1)), (), False).error for id_ in range(1, 8)]
    assert errors[0] is not None and errors[0].endswith(": HTTP status 503")
    assert errors[-1] is not None and errors[-1].endswith(": not asked again after 3 failures")
    assert len(registry.paths) == 1 + 3
    assert len(schemas.errors) == 2


def test_ids_that_a_registry_does_not_have_are_bounded(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_module, "MAX_MISSING", 5)
    schemas = load_schemas([registry.url])
    read = [schemas.read("t", bytes((0, 0, 0, id_, 1, 1)), (), False).error for id_ in range(1, 9)]
    assert read[0] == "no given schema has id 257, if it is one"
    assert read[-1] is not None and "not asked again after 5 ids" in read[-1]
    assert len(registry.paths) == 1 + 5


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"schema": 5}, "holds no schema"),
        ([], "holds no schema"),
        ({"schema": "x" * 100}, "the response has more than 99 bytes"),
        ({"schema": '"int"', "schemaType": "XML"}, "no type of schemas: 'XML'"),
    ],
)
def test_responses_that_are_wrong(
    registry: Registry, answer: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemas = load_schemas([registry.url])
    monkeypatch.setattr(registry_module, "MAX_RESPONSE_BYTES", 99)
    registry.answers["/schemas/ids/1"] = answer
    assert why in (schemas.read("t", b"\0\0\0\0\1\2", (), False).error or "")


def test_schemas_that_refer_to_each_other_end(registry: Registry) -> None:
    for mine, other, id_ in (("A", "B", 1), ("B", "A", 2)):
        text = json.dumps({"type": "record", "name": mine, "fields": [{"name": "x", "type": other}]})
        answer = {"schema": text, "references": [{"name": other, "subject": other, "version": 1}]}
        registry.answers[f"/schemas/ids/{id_}"] = answer
        registry.answers[f"/subjects/{mine}/versions/1"] = answer | {"subject": mine, "version": 1}
    schemas = load_schemas([registry.url])
    assert schemas.read("t", b"\0\0\0\0\1abcd", (), False).error


def test_files_are_looked_up_first(registry: Registry, tmp_path: Path) -> None:
    fill(registry)
    (tmp_path / "2.avsc").write_text('"bytes"')
    schemas = load_schemas([registry.url, str(tmp_path)])
    assert schemas.read("t", b"\0\0\0\0\2\2x", (), False).value == {"base64": "eA=="}
    assert registry.paths == ["/schemas/types"]
