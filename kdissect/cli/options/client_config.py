"""`--command-config`: the properties of a Kafka client with which kdissect connects."""

from __future__ import annotations

from kdissect.broker_loggers.client_properties import PropertiesError, Settings, settings_of
from kdissect.cli.diagnostics import UNREADABLE, USAGE, say
from kdissect.model import extras


def needs_client(what: str) -> None:
    """Leave with an exit code if the client library is not installed that `what` needs."""
    if not extras.are_installed("kafka", "javaproperties"):
        say(f"{what} needs kafka-python: {extras.how_to_install('admin')}")
        raise SystemExit(UNREADABLE)


def client_settings(path: str | None) -> Settings:
    """Return the settings in a file, none without one. Leaves with an exit code if it cannot be used."""
    try:
        return settings_of(path) if path else {}
    except PropertiesError as error:
        say(str(error))
        raise SystemExit(USAGE) from None
    except OSError as error:
        say(f"{path}: {error.strerror}")
        raise SystemExit(UNREADABLE) from None
