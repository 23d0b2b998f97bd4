"""What reports as JSON share: how one is written, and its schema, which lies beside its module."""

import json
import os
from typing import Any

from kdissect.report.printable import whole_text


def json_page(value: Any, indent: int = 2) -> str:
    """Plain values as JSON, ASCII only, so that nothing from the wire can act on a terminal."""
    return json.dumps(whole_text(value), indent=indent, ensure_ascii=True) + "\n"


def schema_beside(module: str, name: str) -> str:
    """The JSON Schema (2020-12) in the folder of a module, which says its own `__file__`."""
    # Start-up: `importlib.resources` and `pathlib` take 8 ms.
    path = os.path.join(os.path.dirname(module), name)  # noqa: PTH118, PTH120
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()
