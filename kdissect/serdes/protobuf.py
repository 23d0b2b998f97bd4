"""Values of Protobuf. Needs protobuf and grpcio-tools, which brings the compiler (extra `schemas`)."""

from __future__ import annotations

import base64
import binascii
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from kdissect.serdes.faults import SchemaError, ValueFaultError
from kdissect.serdes.registered import Decode, Registered, SchemaType, Which

_MAIN = "kdissect_main.proto"
_FIRST = (0,)
_PATIENCE_S = 60
_MAX_FILES = 256  # compiled, in memory
_NAME = re.compile(r"[A-Za-z0-9_.\-]+(?:/[A-Za-z0-9_.\-]+)*\.proto")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")
_MOST = 200  # characters of a reason


def protobuf_decoder(schema: Registered) -> Decode:
    """Return the function for the messages of a .proto file, or of a descriptor in base64.

    Raises SchemaError.
    """
    main = _main(schema)
    try:
        named = main.pool.FindMessageTypeByName(schema.message) if schema.message else None
    except KeyError:
        raise SchemaError(f"{schema.name}: no message {schema.message}") from None
    first = list(main.message_types_by_name.values())
    classes: dict[Which, Any] = {}

    def decode(data: bytes, which: Which) -> Any:
        key = _FIRST if which is None or which == () else which
        kind = classes.get(key)
        if kind is None:
            found = _message(first, key) if named is None else named
            kind = classes[key] = GetMessageClass(found)
        try:
            message = kind.FromString(data)
        except DecodeError as error:
            raise ValueFaultError(f"no message {kind.DESCRIPTOR.full_name}: {error}"[:_MOST]) from None
        return _plain(message)

    return decode


def message_name(schema: Registered, which: Which) -> str:
    """Return the full name of a message. Raises SchemaError, or ValueFaultError for one that is not there."""
    key = _FIRST if which is None or which == () else which
    return str(_message(list(_main(schema).message_types_by_name.values()), key).full_name)


def message_names(schema: Registered) -> list[str]:
    """Return the full names of all messages. Raises SchemaError."""
    return [one.full_name for one in _every(_main(schema).message_types_by_name.values())]


def _main(schema: Registered) -> Any:
    """Return the descriptor of a file, whose pool has those that it imports. Raises SchemaError."""
    return _loaded(schema.name, schema.text, tuple(schema.references.items()))


@lru_cache(_MAX_FILES)  # the compiler is a process
def _loaded(name: str, text: str, references: tuple[tuple[str, str], ...]) -> Any:
    pool = DescriptorPool()
    try:
        files = _described(Registered(name, SchemaType.PROTOBUF, text, dict(references)))
        for file in files:
            pool.Add(file)
        return pool.FindFileByName(files[-1].name)
    except (TypeError, RecursionError) as error:
        raise SchemaError(f"{name}: {str(error)[:_MOST]}") from None


def _every(first: Iterable[Any]) -> list[Any]:
    """Return the messages of a file with the messages inside of them."""
    every = list(first)
    for message in every:  # grows: messages inside of each other come after all of the level above
        every += message.nested_types
    return every


def _message(first: Sequence[Any], which: tuple[int, ...] | str | int) -> Any:
    """Return the descriptor of a message, from a file's first level. Raises ValueFaultError."""
    if isinstance(which, tuple):
        found, inside = None, list(first)
        for index in which:
            if index >= len(inside):
                raise ValueFaultError(f"the schema has no message {','.join(map(str, which))}")
            found = inside[index]
            inside = list(found.nested_types)
        return found
    every = _every(first)
    if isinstance(which, str):
        named = next((one for one in every if which in (one.name, one.full_name)), None)
        if named is None:
            raise ValueFaultError(f"the schema has no message {which!r}")
        return named
    if which >= len(every):
        raise ValueFaultError(f"the schema has no message number {which}")
    return sorted(every, key=lambda one: one.full_name)[which]


def _plain(message: Any) -> Any:
    try:
        return MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
    except Exception:  # a time without a date, an Any of an unknown type: what the bytes hold
        return _fields(message)


def _fields(message: Any) -> dict[str, Any]:
    """Return the fields that are set, without the special forms of Google's own types."""
    return {field.name: _field(field, value) for field, value in message.ListFields()}


def _field(field: Any, value: Any) -> Any:
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    if is_map:
        inner = field.message_type.fields_by_name["value"]
        return {str(key): _one(inner, item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_one(field, item) for item in value]
    return _one(field, value)


def _one(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _fields(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and value - value != 0:  # not finite
        return str(value)
    return value


def _described(schema: Registered) -> list[FileDescriptorProto]:
    """Return the files of a schema, with imported files first."""
    texts = {**schema.references, _MAIN: schema.text}
    serialized = {name: _serialized(text) for name, text in texts.items()}
    if all(serialized.values()):
        return _with_imports(schema, serialized)
    for name in texts:
        if not _NAME.fullmatch(name) or ".." in name.split("/"):
            raise SchemaError(f"{schema.name}: {name!r} is no file name")
    with TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return list(_compiled(schema, folder).file)


def _serialized(text: str) -> FileDescriptorProto | None:
    """Return the descriptor that a registry gives for `format=serialized`; None for a text."""
    if not _BASE64.fullmatch(text):
        return None
    try:
        return FileDescriptorProto.FromString(base64.b64decode(text, validate=False))
    except (binascii.Error, DecodeError):
        return None


def _with_imports(
    schema: Registered, files: dict[str, FileDescriptorProto | None]
) -> list[FileDescriptorProto]:
    found: dict[str, FileDescriptorProto] = {}

    def add(name: str, file: FileDescriptorProto) -> None:
        if name in found:
            return
        for needed in file.dependency:
            given = files.get(needed)
            add(needed, _own(needed, schema) if given is None else given)
        copy = FileDescriptorProto()
        copy.CopyFrom(file)
        copy.name = name
        found[name] = copy

    main = files[_MAIN]
    assert main is not None  # the caller has looked
    add(_MAIN, main)
    return list(found.values())


def _own(name: str, schema: Registered) -> FileDescriptorProto:
    """Return one of Google's own files, which come with the library."""
    import importlib  # few schemas are descriptors

    module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
    copy = FileDescriptorProto()
    if not name.startswith("google/protobuf/"):
        raise SchemaError(f"{schema.name}: no schema {name!r} is available")
    try:
        importlib.import_module(module).DESCRIPTOR.CopyToProto(copy)
    except ImportError:
        raise SchemaError(f"{schema.name}: no schema {name!r} is available") from None
    return copy


def _compiled(schema: Registered, folder: str) -> FileDescriptorSet:
    """Return the compiler's result for the files of a folder. In a process of its own: it is no Python."""
    import grpc_tools  # its folder has Google's files, too

    google = Path(grpc_tools.__file__).parent / "_proto"
    out = Path(folder, "out.set")
    command = (
        sys.executable, "-P", "-m", "grpc_tools.protoc", f"-I{folder}", f"-I{google}", "--include_imports",
        f"--descriptor_set_out={out}", _MAIN,
    )  # fmt: skip
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SchemaError(f"{schema.name}: the Protobuf compiler does not run: {error}") from None
    if ran.returncode:
        lines = [line for line in ran.stderr.splitlines() if "warning" not in line]
        why = (lines or ["the Protobuf compiler refuses it"])[0].removeprefix(f"{_MAIN}:")
        raise SchemaError(f"{schema.name}: {why[:_MOST]}")
    return FileDescriptorSet.FromString(out.read_bytes())
