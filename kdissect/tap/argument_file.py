"""Options of a JVM in a file that only its user reads: everybody on the machine reads its command line."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# The launcher `java` takes `@FILE` from Java 9 on (JEP 293).
_FIRST = 9
_MAX_RELEASE = 1 << 16


def takes_argument_files(java: str) -> bool:
    """Return whether a program is a launcher of Java 9 or later, as the file `release` of its Java says."""
    found = shutil.which(java)
    if found is None:
        return False
    home = os.path.dirname(os.path.dirname(os.path.realpath(found)))  # noqa: PTH120
    with suppress(OSError), open(os.path.join(home, "release"), "rb") as file:  # noqa: PTH118, PTH123
        version = re.search(rb'^JAVA_VERSION="(\d{1,4})\b', file.read(_MAX_RELEASE), re.M)
        return version is not None and int(version[1]) >= _FIRST
    return False


@contextmanager
def argument_file(option: str) -> Iterator[str]:
    """Yield the argument that names a file with an option, while the file exists. Raises OSError."""
    handle, path = tempfile.mkstemp(prefix="kdissect-tap-")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            # In quotes a backslash begins an escape. Every other character is literal.
            file.write('"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"\n')
        yield f"@{path}"
    finally:
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108
