"""The formats of reports, and `--report FORMAT=FILE`: files that are complete or absent.

A file is opened before the captures are read: that it cannot be written is known at once, not after an hour.
"""

import os
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable
from importlib import import_module
from types import TracebackType

from kdissect.api import Dissection
from kdissect.cli.options.input_options import is_input
from kdissect.cli.output import Output, OutputError
from kdissect.model.cause import Diagnosis
from kdissect.report.verdict import Verdict

HTML = "html"
"""The format that also contains causes, which requires the analysis of `why`."""
# Name -> module and function. A module is imported when its format is asked for.
_WRITERS = {
    "text": ("kdissect.report.text", "report_text"),
    "json": ("kdissect.report.json", "report_json"),
    "junit": ("kdissect.report.junit", "report_junit"),
    "sarif": ("kdissect.report.sarif", "report_sarif"),
    "github": ("kdissect.report.github", "report_github"),
    "markdown": ("kdissect.report.markdown", "report_markdown"),
    HTML: ("kdissect.report.html", "report_html"),
}
FORMATS = tuple(_WRITERS)
STATISTICS = "stats"
"""Made from tables alone, besides `FORMATS`: what `stats --format json` prints."""


def render(name: str, verdict: Verdict, statistics: bool = False, causes: Diagnosis | None = None) -> bytes:
    """Return a report as UTF-8.

    `statistics` adds a table of counts to text, `causes` a first section to HTML.
    """
    module, function = _WRITERS[name]
    writer: Callable[..., str] = getattr(import_module(module), function)
    more: dict[str, tuple[object, ...]] = {"text": (statistics,), HTML: (causes,)}
    text = writer(verdict, *more.get(name, ()))
    return text.encode("utf-8", "replace")


def report_option(text: str) -> tuple[str, str]:
    """`FORMAT=FILE` as (format, file). Raises ArgumentTypeError."""
    name, equals, path = text.partition("=")
    if name not in FORMATS:
        raise ArgumentTypeError(f"{name!r} is no format. Formats are {', '.join(FORMATS)}")
    if not equals or not path:
        raise ArgumentTypeError(f"{text!r} is no FORMAT=FILE")
    return name, path


class ReportFiles:
    """The files of `--report`, open from the start. Files that `write` did not complete are removed.

    Raises OutputError where a file cannot be written, or would replace an input or another report.
    """

    def __init__(
        self, wanted: Iterable[tuple[str, str]], dissection: Dissection, output: str | None = None
    ) -> None:
        self._files: list[tuple[str, Output]] = []
        self._taken = set() if output is None else {os.path.realpath(output)}
        try:
            for name, path in wanted:
                self._open(name, path, dissection)
        except OutputError:
            self._drop()
            raise

    def __enter__(self) -> "ReportFiles":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drop()

    def write(self, verdict: Verdict, statistics: bool = False, causes: Diagnosis | None = None) -> None:
        """Write every report. Raises OutputError."""
        while self._files:
            name, file = self._files.pop(0)
            with file:
                file.write(render(name, verdict, statistics, causes))

    def _open(self, name: str, path: str, dissection: Dissection) -> None:
        if is_input(dissection, path):
            raise OutputError(f"{path} is one of the captures to be read")
        place = os.path.realpath(path)
        if place in self._taken:
            raise OutputError(f"{path} cannot take two reports")
        self._taken.add(place)
        self._files.append((name, Output(path)))

    def _drop(self) -> None:
        while self._files:
            self._files.pop()[1].drop()
