"""Cells that a spreadsheet shows as text: TSV and CSV files are opened in one.

A spreadsheet evaluates a text that begins like a formula. An apostrophe before it marks it as text.
"""

import re
from functools import cache
from typing import Any

from kdissect.report.cells import LIST_SEPARATOR, cell


@cache  # start-up: most texts begin with a letter or digit
def _formula() -> re.Pattern[str]:
    # "CSV Injection", OWASP: what begins a formula in Excel, LibreOffice or Google Sheets, also after blanks
    return re.compile(r"\s*[=+\-@\x00-\x1f\uff0b\uff0d\uff1d\uff20]")


def formula_mark(value: Any) -> str:
    """Return the apostrophe for the cell of a value if the cell needs one, else an empty text.

    Numbers and lists of numbers stay numbers: only a text, or a list that contains one, has the mark.
    """
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and any(isinstance(item, str) for item in value):
        text = LIST_SEPARATOR.join(item if isinstance(item, str) else cell(item) for item in value)
    else:
        return ""
    return "'" if not text[:1].isalnum() and _formula().match(text) else ""
