"""A schema registry that answers while values are read: Confluent's API, or Apicurio's own.

Requests only read. Each response is kept, also that a schema is missing. After some failures in a row a
registry is not asked again, so that a host that is down delays a run by seconds only.

Confluent's API: https://docs.confluent.io/platform/current/schema-registry/develop/api.html, which Apicurio
offers below /apis/ccompat/. Apicurio's own: https://www.apicur.io/registry/docs/ (core API v2 and v3).
"""

from __future__ import annotations

import base64
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import quote, unquote
from urllib.request import Request

from kdissect.model.version import __version__
from kdissect.serdes.answers import entry_of_answer, entry_of_content, reference
from kdissect.serdes.faults import SchemaError
from kdissect.serdes.http_exchange import HttpFailureError, checked_url, exchange
from kdissect.serdes.schemas import CONTENT_ID, GLOBAL_ID, GUID, NUMBER, Entry, Reference, Source

CREDENTIALS, TOKEN = "KDISSECT_REGISTRY_CREDENTIALS", "KDISSECT_REGISTRY_TOKEN"
"""Environment variables: `USER:PASSWORD`, or a bearer token."""
TIMEOUT_S = 5.0
MAX_RESPONSE_BYTES = 8 << 20
MAX_FAILURES = 3  # in a row
MAX_MISSING = 1000
"""Ids that a registry does not have: any bytes may look like an id, and each one costs a request."""
_NOT_FOUND = 404
_APICURIO = "/apis/registry/v"


def is_address(path: str) -> bool:
    """Return whether `--schemas` names a registry."""
    return path.lower().startswith(("http://", "https://"))


def registry_at(url: str) -> Source:
    """Return the registry at an address, which has answered. Raises SchemaError with one line."""
    try:
        parts = checked_url(url, "a registry")
    except ValueError as error:
        raise SchemaError(str(error)) from None
    base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    kind = _Apicurio if _APICURIO in parts.path else _Confluent
    return kind(_Requests(base, f"{parts.scheme}://{parts.netloc}"))


class _Requests:
    """Requests to one registry."""

    def __init__(self, base: str, name: str) -> None:
        self.base, self.name = base, name
        self._headers = {"User-Agent": f"kdissect/{__version__}", "Accept": "application/json, */*"}
        if token := os.environ.get(TOKEN):
            self._headers["Authorization"] = f"Bearer {token}"
        elif credentials := os.environ.get(CREDENTIALS):
            self._headers["Authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
        self._failures = 0
        self._missing = 0

    def get(self, path: str) -> str | None:
        """Return the text of a resource, or None if it does not exist. Raises SchemaError."""
        if self._failures >= MAX_FAILURES:
            raise SchemaError(f"{self.name}: not asked again after {MAX_FAILURES} failures")
        if self._missing >= MAX_MISSING:
            raise SchemaError(f"{self.name}: not asked again after {MAX_MISSING} ids that it does not have")
        try:
            body = exchange(Request(self.base + path, headers=self._headers), TIMEOUT_S, MAX_RESPONSE_BYTES)
        except HttpFailureError as failure:
            if failure.status == _NOT_FOUND:
                self._failures = 0
                self._missing += 1
                return None
            self._failures += 1
            raise SchemaError(f"{self.name}: {failure}") from None
        self._failures = 0
        try:
            return body.decode()
        except UnicodeDecodeError:
            raise SchemaError(f"{self.name}: a response is no UTF-8") from None

    def get_json(self, path: str) -> Any:
        """Return the contents of a resource, or None. Raises SchemaError."""
        text = self.get(path)
        try:
            return None if text is None else json.loads(text)
        except (ValueError, RecursionError):
            raise SchemaError(f"{self.name}: a response is no JSON") from None


class _Kept(ABC):
    """Answers of a registry, each requested once. `spaces` are those of its ids."""

    spaces: ClassVar[frozenset[str]]

    def __init__(self, requests: _Requests) -> None:
        self._requests = requests
        self._entries: dict[tuple[str | int, str | int], Entry | None] = {}

    def by_id(self, space: str, value: int | str) -> Entry | None:
        """Return the schema that has an id, or None. Raises SchemaError."""
        return self._once((space, value), lambda: self._of_id(space, value)) if space in self.spaces else None

    def by_version(self, subject: str, version: str) -> Entry | None:
        """Return a version of a subject, or None. Raises SchemaError."""
        return self._once((f"/{subject}", version), lambda: self._of_version(subject, version))

    @abstractmethod
    def _of_id(self, space: str, value: int | str) -> Entry | None: ...

    @abstractmethod
    def _of_version(self, subject: str, version: str) -> Entry | None: ...

    def _once(self, place: tuple[str | int, str | int], ask: Callable[[], Entry | None]) -> Entry | None:
        if place not in self._entries:
            self._entries[place] = ask()
        return self._entries[place]


class _Confluent(_Kept):
    spaces = frozenset({NUMBER, GUID})

    def __init__(self, requests: _Requests) -> None:
        super().__init__(requests)
        if not isinstance(requests.get_json("/schemas/types"), list):
            raise SchemaError(f"{requests.name}: no schema registry answers at this address")

    def _of_id(self, space: str, value: int | str) -> Entry | None:
        path = f"/schemas/{'ids' if space == NUMBER else 'guids'}/{value}"
        answer = self._requests.get_json(path)
        if answer is None:
            return None
        entry = self._entry(answer)
        versions = self._requests.get_json(f"{path}/versions") if space == NUMBER else None
        named = [
            (str(one.get("subject") or ""), str(one.get("version") or ""))
            for one in (versions if isinstance(versions, list) else ())
            if isinstance(one, dict)
        ]
        if named:
            entry = entry._replace(subject=named[0][0], version=named[0][1], others=tuple(named[1:]))
        return entry._replace(ids=((space, value),))

    def _of_version(self, subject: str, version: str) -> Entry | None:
        path = f"/subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}"
        answer = self._requests.get_json(path)
        return None if answer is None else self._entry(answer)

    def _entry(self, answer: Any) -> Entry:
        if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
            raise SchemaError(f"{self._requests.name}: a response holds no schema")
        return entry_of_answer(self._requests.name, answer)


class _Apicurio(_Kept):
    """`by_version` takes subjects as `_reference` makes them."""

    spaces = frozenset({GLOBAL_ID, CONTENT_ID})

    def __init__(self, requests: _Requests) -> None:
        super().__init__(requests)
        # Version 3 has the content of a version below it, version 2 at its place.
        self._content = "" if f"{_APICURIO}2" in requests.base else "/content"
        if not isinstance(requests.get_json("/system/info"), dict):
            raise SchemaError(f"{requests.name}: no schema registry answers at this address")

    def _of_id(self, space: str, value: int | str) -> Entry | None:
        path = f"/ids/{space}s/{value}"
        text = self._requests.get(path)
        if text is None:
            return None
        return self._entry(text, f"{path}/references", f"{space} {value}")._replace(ids=((space, value),))

    def _of_version(self, subject: str, version: str) -> Entry | None:
        group, _, artifact = subject.partition("/")
        place = f"/groups/{group}/artifacts/{artifact}/versions/{quote(version, safe='')}"
        text = self._requests.get(place + self._content)
        if text is None:
            return None
        return self._entry(text, f"{place}/references", unquote(artifact))

    def _entry(self, text: str, references: str, name: str) -> Entry:
        listed = self._requests.get_json(references)
        given = tuple(map(_reference, listed if isinstance(listed, list) else ()))
        return entry_of_content(f"{self._requests.name} {name}", text, given)


def _reference(given: Any) -> Reference:
    """Return a reference whose subject is the group and the artifact, quoted, as paths have them."""
    found = reference(given)
    group = given.get("groupId") if isinstance(given, dict) else None
    return found._replace(
        subject=f"{quote(str(group or 'default'), safe='')}/{quote(found.subject, safe='')}"
    )
