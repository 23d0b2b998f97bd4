"""What commands are, from what their parsers say."""

from kdissect.cli import COMMANDS
from kdissect.cli.reference.completion_command import parser_of


def commands_without_captures() -> set[str]:
    """Commands that read no captures: they have no option for the secrets of TLS."""
    return {name for name in COMMANDS if "--keylog" not in parser_of(name)._option_string_actions}
