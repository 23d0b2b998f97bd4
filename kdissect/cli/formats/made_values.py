"""Values for `-e` and `--sort` that rows do not have."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.options.input_options import start_ns

if TYPE_CHECKING:
    from kdissect.query.fields.printed_fields import FieldValues


def made_values(dissection: Dissection, options: Namespace) -> FieldValues | None:
    """Return the function that computes those columns; None without such columns."""
    order = [] if options.order is None else [options.order.column]
    names = [column.name for column in (*options.columns, *order) if column.is_made]
    if not names:
        return None
    # Start-up: rows have most columns.
    from kdissect.query import Context
    from kdissect.query.fields.printed_fields import FieldValues

    context = Context(
        lambda: start_ns(dissection), dissection.topics.topics_of, file_names=dissection.file_names,
        show_secrets=getattr(options, "show_secrets", False),
    )  # fmt: skip
    return FieldValues(names, context)
