"""Text from the wire made safe for a terminal: see `report.printable`, which reports need as well."""

from kdissect.report.printable import field_text, printable, terminal_json

__all__ = ["field_text", "printable", "terminal_json"]
