"""The extra `personal`, which finds personal data."""

from argparse import ArgumentParser

from kdissect.model.extras import are_installed, how_to_install


def missing_personal() -> str | None:
    """Return the message that the extra is missing; None if it is there."""
    if are_installed("phonenumbers", "stdnum"):
        return None
    return f"personal data needs phonenumbers and python-stdnum: {how_to_install('personal')}"


def check_personal(parser: ArgumentParser) -> None:
    """Exit with a usage error if the extra is missing."""
    missing = missing_personal()
    if missing is not None:
        parser.error(missing)
