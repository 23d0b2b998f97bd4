"""The file that names the files of a directory's tables: `_kdissect.json`.

It is there as a whole (`whole_object`). A newer kdissect's manifest is not touched, because its meaning is
unknown here.
"""

from __future__ import annotations

import json
from typing import Any

from kdissect.engine.tables.all_tables import FIRST_VERSION, TABLES_VERSION
from kdissect.pipeline.table_files.whole_object import NEXT, is_file, read_whole, settle, write_whole

MANIFEST = "_kdissect.json"

Manifest = dict[str, Any]


class ManifestError(OSError):
    """The manifest cannot be used. The text is one line for people."""


class NewerTablesError(ManifestError):
    """A newer kdissect wrote the tables."""


class OlderTablesError(ManifestError):
    """The tables were written before the first release."""


def read_manifest(filesystem: Any, root: str, name: str = MANIFEST) -> Manifest | None:
    """Read the manifest of a directory. Return None if there is none.

    Raises OSError, or ManifestError if it is damaged, or of a kdissect that is newer or of no release.
    """
    path = f"{root}/{name}"
    text = read_whole(filesystem, path)
    if text is None:
        found = _parsed(read_whole(filesystem, path + NEXT))
    else:
        found = _parsed(text)
        if found is None:
            raise ManifestError(f"its {name} is damaged: not the JSON that kdissect writes")
    if found is not None:
        _refuse_others(found)
    return found


def write_manifest(filesystem: Any, root: str, manifest: Manifest, name: str = MANIFEST) -> None:
    """Put a manifest in the place of the one that is there. Raises OSError: then the old one holds."""
    write_whole(filesystem, f"{root}/{name}", json.dumps(manifest, indent=1).encode())


def forget_next(filesystem: Any, root: str) -> None:
    """After a crash: what was not yet renamed counts if there is no other, and goes if there is one."""
    path = f"{root}/{MANIFEST}"
    if not is_file(filesystem, path + NEXT):
        return
    if is_file(filesystem, path) or _parsed(read_whole(filesystem, path + NEXT)) is None:
        filesystem.delete_file(path + NEXT)
    else:
        settle(filesystem, path)


def _refuse_others(manifest: Manifest) -> None:
    version = manifest.get("tables_version")
    if isinstance(version, int) and version < FIRST_VERSION:
        raise OlderTablesError(
            f"written before the first release, with tables of version {version}: "
            "choose another directory, or delete this one and write them again"
        )
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
