"""The file that names what belongs to the tables of a directory: `_kdissect.json`.

Rules:
- It is written under another name and renamed, so that who reads it finds the old one or the new one. Object
  stores show an object when it is complete and cannot rename: there it is written at once.
- Where renaming replaces nothing (HDFS) there is none for a moment; then the other one holds, if it is whole.
- What a newer kdissect wrote is not touched, as nobody here knows what it means.
"""

from __future__ import annotations

import json
from typing import Any

from kdissect.engine.tables.registry import TABLES_VERSION

MANIFEST = "_kdissect.json"
NEXT = "_kdissect.json.next"
# As `type_name` of file systems of pyarrow.
_OBJECT_STORES = frozenset({"s3", "gcs", "abfs"})

Manifest = dict[str, Any]


class ManifestError(OSError):
    """The manifest cannot be used. The text is one line for people."""


class NewerTablesError(ManifestError):
    """A newer kdissect wrote the tables."""


def read_manifest(filesystem: Any, root: str) -> Manifest | None:
    """The manifest of a directory; None if there is none.

    Raises OSError; ManifestError where it is damaged, NewerTablesError where it is of a newer kdissect.
    """
    text = _content(filesystem, f"{root}/{MANIFEST}")
    if text is not None:
        found = _parsed(text)
        if found is None:
            raise ManifestError(f"its {MANIFEST} is damaged: not the JSON that kdissect writes")
    else:
        found = _parsed(_content(filesystem, f"{root}/{NEXT}") or b"")
    if found is not None:
        _refuse_newer(found)
    return found


def write_manifest(filesystem: Any, root: str, manifest: Manifest) -> None:
    """Put a manifest in the place of the one that is there. Raises OSError: then the old one holds."""
    content = json.dumps(manifest, indent=1).encode()
    filesystem.create_dir(root, recursive=True)
    if filesystem.type_name in _OBJECT_STORES:
        _write(filesystem, f"{root}/{MANIFEST}", content)
        return
    _write(filesystem, f"{root}/{NEXT}", content)
    settle_manifest(filesystem, root)


def settle_manifest(filesystem: Any, root: str) -> None:
    """Rename what was written completely."""
    try:
        filesystem.move(f"{root}/{NEXT}", f"{root}/{MANIFEST}")
    except OSError:
        if not _is_file(filesystem, f"{root}/{MANIFEST}"):
            raise
        filesystem.delete_file(f"{root}/{MANIFEST}")
        filesystem.move(f"{root}/{NEXT}", f"{root}/{MANIFEST}")


def forget_next(filesystem: Any, root: str) -> None:
    """After a crash: what was not yet renamed counts if there is no other, and goes if there is one."""
    if not _is_file(filesystem, f"{root}/{NEXT}"):
        return
    if _is_file(filesystem, f"{root}/{MANIFEST}") or _parsed(_content(filesystem, f"{root}/{NEXT}")) is None:
        filesystem.delete_file(f"{root}/{NEXT}")
    else:
        settle_manifest(filesystem, root)


def _refuse_newer(manifest: Manifest) -> None:
    version = manifest.get("tables_version")
    if isinstance(version, int) and version > TABLES_VERSION:
        by = manifest.get("kdissect", "a newer version")
        raise NewerTablesError(
            f"written by kdissect {by} with tables of version {version}; "
            f"this kdissect knows them up to {TABLES_VERSION}: update it, or choose another directory"
        )


def _parsed(text: bytes | None) -> Manifest | None:
    try:
        found = json.loads(text or b"")
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("files"), list) else None


def _content(filesystem: Any, path: str) -> bytes | None:
    if not _is_file(filesystem, path):
        return None
    with filesystem.open_input_stream(path) as stream:
        content: bytes = stream.read()
    return content


def _write(filesystem: Any, path: str, content: bytes) -> None:
    with filesystem.open_output_stream(path) as stream:
        stream.write(content)


def _is_file(filesystem: Any, path: str) -> bool:
    from pyarrow import fs

    return bool(filesystem.get_file_info(path).type == fs.FileType.File)
