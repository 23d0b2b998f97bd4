"""Made-up people of five countries, in shapes that `captures/personal` does not have, with the truth.

No line of it uses the detector. Numbers have check digits by rules of this file.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape

import pytest

PEOPLE = 150
"""Of each country, in each shape."""


class Country(NamedTuple):
    """Names of people, and functions that return a number of the country."""

    firsts: str
    lasts: str
    streets: str
    mail: str
    phone: Callable[[random.Random], str]
    national: Callable[[random.Random], str]
    national_name: str
    iban: str


def _digits(dice: random.Random, count: int) -> str:
    return "".join(dice.choices("0123456789", k=count))


def iban(dice: random.Random, country: str) -> str:
    """Return an IBAN (ISO 13616) with digits alone: country and length."""
    code, length = country[:2], int(country[2:])
    account = _digits(dice, length - 4)
    number = int(account + "".join(str(int(letter, 36)) for letter in code) + "00")
    return f"{code}{98 - number % 97:02}{account}"


def card(dice: random.Random) -> str:
    """Return a card number of Visa, with its check digit (Luhn)."""
    digits = "4" + _digits(dice, 14)
    total = sum(sum(divmod(int(digit) * (2 - place % 2), 10)) for place, digit in enumerate(digits))
    return f"{digits}{-total % 10}"


def norwegian(dice: random.Random) -> str:
    """Return a fødselsnummer: date, three digits, two check digits (mod 11)."""
    while True:
        digits = (
            f"{dice.randint(1, 28):02}{dice.randint(1, 12):02}{dice.randint(40, 99)}{dice.randint(0, 499):03}"
        )
        for weights in ("376189452", "5432765432"):
            pairs = zip(digits, weights, strict=False)
            left = -sum(int(one) * int(weight) for one, weight in pairs) % 11
            digits += str(left) if left < 10 else ""
        if len(digits) == 11:
            return digits


def turkish(dice: random.Random) -> str:
    """Return a kimlik number: nine digits and two check digits."""
    digits = str(dice.randint(1, 9)) + _digits(dice, 8)
    odd, even = (sum(map(int, digits[start::2])) for start in (0, 1))
    digits += str((odd * 7 - even) % 10)
    return digits + str(sum(map(int, digits)) % 10)


def swiss(dice: random.Random) -> str:
    """Return an AHV number: 756, nine digits and a check digit (EAN-13)."""
    digits = "756" + _digits(dice, 9)
    total = sum(int(digit) * (1 + 2 * (place % 2)) for place, digit in enumerate(digits))
    digits += str(-total % 10)
    return f"{digits[:3]}.{digits[3:7]}.{digits[7:11]}.{digits[11:]}"


def portuguese(dice: random.Random) -> str:
    """Return a NIF: eight digits and a check digit (mod 11)."""
    digits = dice.choice("12") + _digits(dice, 7)
    left = 11 - sum(int(digit) * (9 - place) for place, digit in enumerate(digits)) % 11
    return f"{digits}{left if left < 10 else 0}"


def italian(dice: random.Random) -> str:
    """Return a codice fiscale in lower case, with its check letter."""
    letters = "".join(dice.choices("BCDFGLMNPRSTV", k=6))
    body = f"{letters}{dice.randint(40, 99)}{dice.choice('ABCDEHLMPRST')}{dice.randint(1, 28):02}H501"
    odd = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
    total = 0
    for place, sign in enumerate(body):
        value = int(sign) if sign.isdigit() else ord(sign) - ord("A")
        total += value if place % 2 else odd[value]
    return f"{body}{chr(ord('A') + total % 26)}".lower()


COUNTRIES = {
    "no": Country("Kari Nils Bo INGRID", "Hansen Berg LIE", "Storgata|Åsveien", "epost.example.no",
                  lambda dice: f"0047 9{_digits(dice, 2)} {_digits(dice, 2)} {_digits(dice, 3)}",
                  norwegian, "fodselsnummer", "NO15"),
    "tr": Country("Ayşe Can ELİF MERT", "Öztürk Kaya ŞAHİN", "Atatürk Caddesi|Gül Sokak", "posta.example.tr",
                  lambda dice: f"+90 532 {_digits(dice, 3)} {_digits(dice, 2)} {_digits(dice, 2)}",
                  turkish, "tcKimlikNo", "TR26"),
    "ch": Country("Urs Beat RETO Léa", "Müller Frei KELLER", "Bahnhofstrasse|Rue du Lac", "post.example.ch",
                  lambda dice: f"0041 79 2{_digits(dice, 2)} {_digits(dice, 2)} {_digits(dice, 2)}",
                  swiss, "ahvNummer", "CH21"),
    "pt": Country("João Inês RUI Ana", "Silva Sousa COSTA", "Rua do Ouro|Rua Alta", "correio.example.pt",
                  lambda dice: f"00351 91{_digits(dice, 1)} {_digits(dice, 3)} {_digits(dice, 3)}",
                  portuguese, "nif", "PT25"),
    "it": Country("Anna LUCA Gio Ugo", "Rossi BIANCHI Re", "Via Roma|Corso Italia", "posta.example.it",
                  lambda dice: f"0039 33{dice.randint(0, 9)} {dice.randint(2, 9)}{_digits(dice, 6)}",
                  italian, "codiceFiscale", "SM27"),
}  # fmt: skip


def person(code: str, dice: random.Random) -> dict[str, tuple[str, str]]:
    """Return fields of a person, each with its value and kind (empty: not personal)."""
    country = COUNTRIES[code]
    first, last = dice.choice(country.firsts.split()), dice.choice(country.lasts.split())
    day = f"{dice.randint(1940, 2005)}-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}"
    number = iban(dice, country.iban) if country.iban != "SM27" else iban(dice, "AT20")
    return {
        "orderId": (str(dice.randint(10**8, 10**10)), ""),
        "firstName": (first, "name"),
        "lastName": (last, "name"),
        "birthDate": (day, "birth_date"),
        "street": (f"{dice.choice(country.streets.split('|'))} {dice.randint(1, 99)}", "address"),
        "email": (f"user{dice.randint(1, 999)}@{country.mail}", "email"),
        "phone": (country.phone(dice), "phone"),
        country.national_name: (country.national(dice), "national_id"),
        "iban": (dice.choice((str, str.lower))(number), "iban"),
        "cardNumber": (card(dice), "card"),
        "clientIp": (
            f"85.{dice.randint(1, 254)}.{dice.randint(0, 254)}.7",
            "ip_address",
        ),
        "traceId": (f"{dice.getrandbits(128):032x}", ""),
        "amount": (f"{dice.randint(1, 9999)}.{dice.randint(0, 99):02}", ""),
        "created": (f"2026-0{dice.randint(1, 9)}-1{dice.randint(0, 9)}T10:00:00Z", ""),
        "status": (dice.choice(("NEW", "PAID", "SENT")), ""),
        "version": (f"1.{dice.randint(0, 30)}.{dice.randint(0, 9)}.{dice.randint(1, 9)}", ""),
    }


def nested(fields: dict[str, str], dice: random.Random) -> bytes:
    """Return nested JSON, with the date as Jackson writes it by default in every second one."""
    value: dict[str, Any] = dict(fields)
    if dice.random() < 0.5:
        value["birthDate"] = [int(part) for part in fields["birthDate"].split("-")]
    else:
        value["birthDate"] = [fields["birthDate"]]
    phone = {"type": "mobile", "number": value.pop("phone")}
    address = {"street": value.pop("street")}
    return json.dumps({"event": {"customer": {**value, "phones": [phone], "addresses": [address]}}}).encode()


def csv_line(fields: dict[str, str], _dice: random.Random) -> bytes:
    """Return a line of CSV without names: what only a name shows is left out."""
    return ",".join(
        fields[name] for name in ("orderId", "email", "phone", "iban", "status", "created")
    ).encode()


def query(fields: dict[str, str], _dice: random.Random) -> bytes:
    """Return a query string."""
    return "&".join(f"{name}={quote(value, safe='@+')}" for name, value in fields.items()).encode()


def logfmt(fields: dict[str, str], _dice: random.Random) -> bytes:
    """Return a line of logfmt."""
    shown = ((name, f'"{value}"' if " " in value else value) for name, value in fields.items())
    return f"level=info msg=saved {' '.join(f'{name}={value}' for name, value in shown)}".encode()


def xml(fields: dict[str, str], _dice: random.Random) -> bytes:
    """Return XML."""
    inner = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items())
    return f'<?xml version="1.0"?><order><customer>{inner}</customer></order>'.encode()


def latin_1(fields: dict[str, str], _dice: random.Random) -> bytes:
    """Return JSON in latin-1, which is no JSON by its specification."""
    return json.dumps(fields | {"note": "Grüße"}, ensure_ascii=False).encode("latin-1")


def message_pack(fields: dict[str, str], _dice: random.Random) -> bytes:
    """Return a map of MessagePack."""
    made: bytes = pytest.importorskip("msgpack", reason="needs the extra schemas").packb({"customer": fields})
    return made


def cbor(fields: dict[str, str], _dice: random.Random) -> bytes:
    """Return a map of CBOR."""
    made: bytes = pytest.importorskip("cbor2", reason="needs the extra schemas").dumps({"customer": fields})
    return made


SHAPES = (nested, csv_line, query, logfmt, xml, latin_1, message_pack, cbor)
_OF_CSV = ("email", "phone", "iban")


class MadeUp(NamedTuple):
    """A value, and the kinds that are planted in it, by how often."""

    shape: str
    data: bytes
    truth: Counter[str]


def made_up() -> list[MadeUp]:
    """Return the values of all people."""
    found = []
    for shape in SHAPES:
        for code in COUNTRIES:
            dice = random.Random(f"{shape.__name__} {code}")
            if shape is latin_1 and code == "tr":
                continue  # latin-1 lacks letters of Turkish
            for _ in range(PEOPLE // len(COUNTRIES)):
                fields = person(code, dice)
                values = {name: value for name, (value, _) in fields.items()}
                truth = Counter(kind for _, kind in fields.values() if kind)
                data = shape(values, dice)
                if b'"birthDate": [1' in data or b'"birthDate": [2' in data:
                    truth["birth_date"] = 3  # year, month and day
                if shape is csv_line:
                    truth = Counter(_OF_CSV)
                found.append(MadeUp(shape.__name__, data, truth))
    return found
