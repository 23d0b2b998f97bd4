"""Packages that a worker lacks: one line names them and the host."""

from __future__ import annotations

import re

import pytest

from kdissect.pipeline.worker_packages import missing_there, require_here


def test_the_line_is_found_in_the_exception_of_spark() -> None:
    with pytest.raises(ModuleNotFoundError) as raised:
        require_here(("json", "no_such_package"), ("records",))
    text = f"[STREAM_FAILED] ...\n  File x.py\nModuleNotFoundError: {raised.value}\n\tat org.apache.spark.X"
    found = missing_there(RuntimeError(text))
    assert found is not None
    assert re.match(r"^on \S+, --schemas needs no_such_package: pip ", found)
    assert missing_there(RuntimeError("another error")) is None


def test_nothing_is_raised_if_all_is_there() -> None:
    require_here(("json",), ("records",))
    require_here((), ("files",))
