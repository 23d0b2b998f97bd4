"""The extra `personal`, which finds personal data."""

from argparse import ArgumentParser

from kdissect.model.extras import missing_personal


def check_personal(parser: ArgumentParser) -> None:
    """Exit with a usage error if the extra is missing."""
    missing = missing_personal()
    if missing is not None:
        parser.error(missing)
