"""Parts that all JSON documents share: version, text, and the schema in the folder of a module."""

import json
import os
from typing import Any

from kdissect.model.version import __version__
from kdissect.report.printable import whole_text

# Keys are added and never renamed. A change that breaks a reader of any document raises the number.
REPORT_VERSION = 1


def versioned(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a JSON document after its version and that of kdissect."""
    return {"report_version": REPORT_VERSION, "kdissect_version": __version__, **facts}


def json_document(facts: dict[str, Any]) -> bytes:
    """Return facts as the bytes of one JSON document, ASCII only."""
    return json.dumps(versioned(facts), indent=2, ensure_ascii=True).encode() + b"\n"


def json_page(value: Any, indent: int = 2) -> str:
    """Return plain values as JSON, ASCII only, so that nothing from the wire can act on a terminal."""
    return json.dumps(whole_text(value), indent=indent, ensure_ascii=True) + "\n"


def schema_beside(module: str, name: str) -> str:
    """Return the JSON Schema (2020-12) in the folder of a module, which says its own `__file__`."""
    # Start-up: `importlib.resources` and `pathlib` take 8 ms.
    path = os.path.join(os.path.dirname(module), name)  # noqa: PTH118, PTH120
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()
