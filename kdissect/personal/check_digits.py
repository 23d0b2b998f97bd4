"""Check digits of national ids that python-stdnum does not have."""

from __future__ import annotations

_TAJ_DIGITS, _TAX_DIGITS = 9, 10


def is_hungarian_taj(number: str) -> bool:
    """Return whether a Hungarian social security number is right (TAJ: Act XX of 1996, annexes)."""
    digits = _digits(number)
    if len(digits) != _TAJ_DIGITS or len(set(digits)) == 1:
        return False
    return sum(digit * (7 if at % 2 else 3) for at, digit in enumerate(digits[:-1])) % 10 == digits[-1]


def is_hungarian_tax_id(number: str) -> bool:
    """Return whether a Hungarian tax id is right (Act XX of 1996, annexes)."""
    digits = _digits(number)
    if len(digits) != _TAX_DIGITS:
        return False
    return sum(digit * place for place, digit in enumerate(digits[:-1], 1)) % 11 == digits[-1]


def _digits(number: str) -> list[int]:
    return [int(one) for one in number if one.isdecimal()]


OWN_CHECKS = {"hu.taj": is_hungarian_taj, "hu.tax": is_hungarian_tax_id}
"""Checks by the name that a module of stdnum would have."""
