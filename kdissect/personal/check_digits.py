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


def is_singapore_nric(number: str) -> bool:
    """Return whether the letter at the end of an NRIC or FIN of Singapore is right."""
    plain = number.upper()
    total = sum(int(one) * weight for one, weight in zip(plain[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True))
    total += {"S": 0, "T": 4, "F": 0, "G": 4, "M": 3}[plain[0]]
    if plain[0] == "M":
        return plain[8] == "KLJNPQRTUWX"[10 - total % 11]
    return plain[8] == ("JZIHGFEDCBA" if plain[0] in "ST" else "XWUTRQPNMLK")[total % 11]


def is_hong_kong_id(number: str) -> bool:
    """Return whether the digit in brackets of an identity card of Hong Kong is right."""
    plain = "".join(one for one in number.upper() if one.isalnum()).rjust(9)
    values = [36 if one == " " else int(one, 36) for one in plain[:8]]
    total = sum(value * weight for value, weight in zip(values, range(9, 1, -1), strict=True))
    return "0123456789A"[-total % 11] == plain[8]


def is_taiwan_id(number: str) -> bool:
    """Return whether the last digit of an id of Taiwan is right. Letters stand for the numbers from 10 on."""
    area = "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(number[0].upper()) + 10
    digits = [area // 10, area % 10, *_digits(number[1:])]
    weights = (1, *range(9, 0, -1), 1)
    total: int = sum(digit * weight for digit, weight in zip(digits, weights, strict=True))
    return total % 10 == 0


def is_kazakh_iin(number: str) -> bool:
    """Return whether the last of twelve digits is right, with the second weights if the first give ten."""
    digits = _digits(number)
    for weights in (range(1, 12), (3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2)):
        rest = sum(digit * weight for digit, weight in zip(digits, weights, strict=False)) % 11
        if rest != 10:
            return rest == digits[11]
    return False


def is_uruguayan_ci(number: str) -> bool:
    """Return whether the last digit of a cédula of Uruguay is right."""
    digits = _digits(number.strip())
    digits = [0] * (8 - len(digits)) + digits
    total = sum(digit * weight for digit, weight in zip(digits, (2, 9, 8, 7, 6, 3, 4), strict=False))
    return -total % 10 == digits[7]


def is_iranian_id(number: str) -> bool:
    """Return whether the last of ten digits is right, and not all are equal."""
    digits = _digits(number)
    rest = sum(digit * weight for digit, weight in zip(digits, range(10, 1, -1), strict=False)) % 11
    return len(set(digits)) > 1 and digits[9] == (rest if rest < 2 else 11 - rest)


def is_russian_snils(number: str) -> bool:
    """Return whether the last two of eleven digits are right."""
    digits = _digits(number)
    total = sum(digit * weight for digit, weight in zip(digits, range(9, 0, -1), strict=False)) % 101 % 100
    return total == digits[9] * 10 + digits[10]


def is_german_pension_id(number: str) -> bool:
    """Return whether the last digit of a pension insurance number is right (VKVV, section 4)."""
    plain = "".join(one for one in number.upper() if one.isalnum())
    digits = _digits(f"{plain[:8]}{ord(plain[8]) - 64:02}{plain[9:11]}")
    weights = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
    total = sum(sum(divmod(digit * weight, 10)) for digit, weight in zip(digits, weights, strict=True))
    return total % 10 == int(plain[11])


def is_luhn(number: str) -> bool:
    """Return whether the last digit is right by Luhn's formula (ISO/IEC 7812-1, annex B)."""
    from stdnum import luhn  # an extra

    digits = "".join(map(str, _digits(number)))
    return bool(luhn.is_valid(digits)) and len(set(digits)) > 1


def _digits(number: str) -> list[int]:
    return [int(one) for one in number if one.isdecimal()]


OWN_CHECKS = {
    "hu.taj": is_hungarian_taj,
    "hu.tax": is_hungarian_tax_id,
    "sg.nric": is_singapore_nric,
    "hk.id": is_hong_kong_id,
    "tw.id": is_taiwan_id,
    "kz.iin": is_kazakh_iin,
    "uy.ci": is_uruguayan_ci,
    "ir.id": is_iranian_id,
    "ru.snils": is_russian_snils,
    "de.rvnr": is_german_pension_id,
    "luhn": is_luhn,
}
"""Checks by the name that a module of stdnum would have."""
