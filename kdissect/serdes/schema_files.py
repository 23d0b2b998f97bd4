"""Schemas from files: answers of a registry, Avro, Protobuf and JSON Schema files, files that map topics."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kdissect.serdes.answers import entry_of_answer, reference, type_of
from kdissect.serdes.faults import SchemaError
from kdissect.serdes.registered import SchemaType
from kdissect.serdes.registry import is_address, registry_at
from kdissect.serdes.schemas import (
    CONTENT_ID,
    GLOBAL_ID,
    GUID,
    NUMBER,
    Entry,
    Reference,
    Schemas,
    TopicSchema,
)

MAX_FILE_BYTES = 64 << 20
MAX_FILES = 20_000
_TYPES = {".avsc": SchemaType.AVRO, ".proto": SchemaType.PROTOBUF}
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,19}")
# In a file that maps topics: whether it is of keys, and the schema that a reader expects.
_MAPPED = {
    "key": (True, False),
    "value": (False, False),
    "key_reader": (True, True),
    "value_reader": (False, True),
}
_PARTS = (("-value", False), ("-key", True))
_MESSAGE = re.compile(r"(.+):([A-Za-z_][\w.]*)")


class _Found(NamedTuple):
    """Contents of files."""

    entries: list[Entry]
    topics: list[TopicSchema]
    artifacts: list[dict[str, Any]]
    """Apicurio's metadata of versions, which name the ids of their content."""
    neighbors: dict[str, Entry]
    """By path, files in the folders of files that are mapped to topics, which may refer to them."""


def load_schemas(paths: Iterable[str]) -> Schemas:
    """Return the schemas of files, directories and registries. Raises SchemaError with one line."""
    found = _Found([], [], [], {})
    sources = []
    for path in paths:
        if is_address(path):
            sources.append(registry_at(path))
        elif Path(path).is_dir():
            for name in _files_of(path):
                _read(name, found, is_named=False)
        else:
            _read(path, found, is_named=True)
    entries = _with_artifacts(found)
    if not entries and not found.topics and not sources:
        raise SchemaError(f"{', '.join(paths)}: no schemas inside")
    return Schemas(entries, [*found.topics, *_by_subject(entries)], list(found.neighbors.values()), sources)


def _files_of(folder: str) -> Iterator[str]:
    count = 0
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.startswith("."):
                continue
            count += 1
            if count > MAX_FILES:
                raise SchemaError(f"{folder}: more than {MAX_FILES} files")
            yield str(Path(where, name))


def _read(path: str, found: _Found, is_named: bool) -> None:
    """Add what a file holds. Other files of a directory are skipped."""
    ending = Path(path).suffix.lower()
    kind = _TYPES.get(ending)
    if kind is not None:
        found.entries.append(_entry_of_file(path, kind, _text(path)))
    elif ending == ".toml":
        found.topics.extend(_topics(path, _toml(path), found))
    elif ending == ".json" or _is_answer(path):
        _read_json(path, _text(path), found, is_named)
    elif is_named:
        raise SchemaError(f"{path}: no schema file (.avsc, .proto, .json, .toml, or a directory)")


def _text(path: str) -> str:
    try:
        if Path(path).stat().st_size > MAX_FILE_BYTES:
            raise SchemaError(f"{path}: larger than {MAX_FILE_BYTES} bytes")
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SchemaError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: no UTF-8") from None


def _toml(path: str) -> Any:
    try:
        return tomllib.loads(_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SchemaError(f"{path}: no TOML: {error}") from None


def _is_answer(path: str) -> bool:
    """Return whether a path is the end of a registry's: `ids/globalIds/7`."""
    where = Path(path)
    return where.parent.name in ("ids", GLOBAL_ID + "s", CONTENT_ID + "s") and bool(
        _NUMBER.fullmatch(where.name)
    )


def _read_json(path: str, text: str, found: _Found, is_named: bool) -> None:
    try:
        contents = json.loads(text)
    except (ValueError, RecursionError) as error:
        if _is_answer(path):  # Apicurio gives contents as they are
            found.entries.append(_entry_of_file(path, SchemaType.PROTOBUF, text))
            return
        why = "nested too deep" if isinstance(error, RecursionError) else f"no JSON: {error}"
        raise SchemaError(f"{path}: {why}") from None
    answers = contents if isinstance(contents, list) else [contents]
    if answers and all(isinstance(one, dict) and isinstance(one.get("schema"), str) for one in answers):
        found.entries.extend(entry_of_answer(path, one, _ids_of(path)) for one in answers)
    elif isinstance(contents, dict) and isinstance(contents.get("topics"), dict):
        found.topics.extend(_topics(path, contents, found))
    elif (
        isinstance(contents, dict) and isinstance(contents.get(GLOBAL_ID), int) and "artifactType" in contents
    ):
        found.artifacts.append(contents)
    else:
        kind = type_of(contents)
        if kind is not None:
            found.entries.append(_entry_of_file(path, kind, text))
        elif is_named:
            raise SchemaError(f"{path}: neither a schema nor an answer of a registry")


def _ids_of(path: str) -> list[tuple[str, int | str]]:
    """Return the id that the name of a file is."""
    where = Path(path)
    stem = where.stem
    if _GUID.fullmatch(stem):
        return [(GUID, stem.lower())]
    if not _NUMBER.fullmatch(stem):
        return []
    space = {f"{one}s": one for one in (GLOBAL_ID, CONTENT_ID)}.get(where.parent.name, NUMBER)
    return [(space, int(stem))]


def _entry_of_file(path: str, kind: SchemaType, text: str) -> Entry:
    """Return a schema that is a file: its name is a subject, an id, or what others refer to it by."""
    references: tuple[Reference, ...] = ()
    listed = Path(path).with_name(f"{Path(path).stem}.references.json")
    if listed.exists():
        try:
            given = json.loads(_text(str(listed)))
        except (ValueError, RecursionError):
            raise SchemaError(f"{listed}: no JSON") from None
        references = tuple(map(reference, given if isinstance(given, list) else ()))
    ids = tuple(_ids_of(path))
    name = Path(path).name
    stem = name.removesuffix(".schema.json") if name.endswith(".schema.json") else Path(path).stem
    subject = stem if not ids and any(stem.endswith(end) for end, _ in _PARTS) else ""
    return Entry(kind, text, path, subject, "", ids, references)


def _topics(path: str, contents: Any, found: _Found) -> Iterator[TopicSchema]:
    """Yield the schemas of a file that maps topics: `[topics.NAME]` with `_MAPPED` names."""
    topics = contents.get("topics")
    if not isinstance(topics, dict):
        raise SchemaError(f"{path}: no table [topics]")
    for topic, parts in topics.items():
        named = {"value": parts} if isinstance(parts, str) else parts
        if not isinstance(named, dict) or not set(named) <= set(_MAPPED):
            raise SchemaError(f"{path}: topics.{topic}: {', '.join(_MAPPED)} name files")
        for part, file in named.items():
            entry, message = _mapped(path, str(file))
            found.entries.append(entry)
            _add_neighbors(entry, found)
            is_key, is_reader = _MAPPED[part]
            yield TopicSchema(topic, is_key, entry, message, is_reader)


def _add_neighbors(entry: Entry, found: _Found) -> None:
    """Files of the same kind in the folder of one."""
    where = Path(entry.where)
    for neighbor in sorted(where.parent.glob(f"*{where.suffix}"))[:MAX_FILES]:
        name = str(neighbor)
        if name not in found.neighbors and name != entry.where and neighbor.is_file():
            found.neighbors[name] = _entry_of_file(name, entry.type, _text(name))


def _mapped(path: str, file: str) -> tuple[Entry, str]:
    """Return the schema that a map names, and the message after a colon."""
    split = _MESSAGE.fullmatch(file)
    named, message = (split[1], split[2]) if split and split[1].endswith(".proto") else (file, "")
    where = str(Path(path).parent / named)
    text = _text(where)
    kind = _TYPES.get(Path(where).suffix.lower())
    if kind is None:
        try:
            kind = type_of(json.loads(text))
        except (ValueError, RecursionError):
            kind = None
    if kind is None:
        raise SchemaError(f"{where}: no schema")
    return _entry_of_file(where, kind, text), message


def _with_artifacts(found: _Found) -> list[Entry]:
    """Return the entries, with the names and ids from Apicurio's metadata."""
    by_id = {one: entry for entry in found.entries for one in entry.ids}
    named: dict[Entry, Entry] = {}
    for artifact in found.artifacts:
        ids: tuple[tuple[str, int | str], ...] = tuple(
            (space, artifact[space])
            for space in (GLOBAL_ID, CONTENT_ID)
            if isinstance(artifact.get(space), int)
        )
        entry = next((by_id[one] for one in ids if one in by_id), None)
        if entry is None:
            continue
        try:
            kind = SchemaType(str(artifact["artifactType"]).upper())
        except ValueError:
            continue
        subject, version = str(artifact.get("artifactId") or ""), str(artifact.get("version") or "")
        known = named.get(entry, entry)
        named[entry] = known._replace(type=kind, subject=subject, version=version, ids=(*known.ids, *ids))
    return [named.get(entry, entry) for entry in found.entries]


def _by_subject(entries: Iterable[Entry]) -> Iterator[TopicSchema]:
    """Yield files that are named as subjects of topics, without an id that values could have."""
    for entry in entries:
        for end, is_key in _PARTS:
            if not entry.ids and not entry.version and entry.subject.endswith(end):
                yield TopicSchema(_escaped(entry.subject.removesuffix(end)), is_key, entry)


def _escaped(topic: str) -> str:
    """Return a topic as a glob."""
    return re.sub(r"([*?\[])", r"[\1]", topic)
