"""The extra `personal`, which finds personal data."""

from argparse import ArgumentParser

from kdissect.model.extras import are_installed, how_to_install


def check_personal(parser: ArgumentParser) -> None:
    """Exit with a usage error if the extra is missing."""
    if not are_installed("phonenumbers", "stdnum"):
        parser.error(f"personal data needs phonenumbers and python-stdnum: {how_to_install('personal')}")
