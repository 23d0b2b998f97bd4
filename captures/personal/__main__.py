"""Writes `personal.pcap.gz` and the truth about it: `python -m captures.personal`.

2,000 records of eight countries. The data comes from faker, and German tax ids and coordinates from rules of
this file. No line of it uses the detector of kdissect. Needs `faker`.
"""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faker import Faker

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.record_batch import Codec
from tests.support.messages.batches import kafka_python_batch
from tests.support.messages.traffic import CLIENT, Conversation
from tests.support.packets.pcaps import write_pcap

HERE = Path(__file__).resolve().parent
SEED = 13
RECORDS = 2_000
PER_BATCH = 50
_PRODUCE, _FETCH = 0, 1
_CODECS = (Codec.NONE, Codec.GZIP, Codec.ZSTD, Codec.LZ4)

Truth = list[tuple[str, str, str]]
"""Part, path and kind of each planted item."""


class Country:
    """Formats of one country, and the names that its software gives to fields."""

    def __init__(
        self, code: str, locale: str, names: dict[str, str], national: Callable[["Country"], str]
    ) -> None:
        self.code = code
        self.names = names
        self.fake = Faker(locale)
        self.fake.seed_instance(SEED)
        self.random = random.Random(f"{SEED}{code}")
        self._national = national

    def national(self) -> str:
        return self._national(self)


def _steuer_id(country: Country) -> str:
    """Return a German tax id: ten digits, one of them twice, and a check digit (ISO 7064, MOD 11, 10)."""
    digits = country.random.sample("123456789", 1) + country.random.sample("0123456789", 9)
    while len(set(digits)) != 9 or digits[0] == "0":  # one digit twice, one missing
        digits = [country.random.choice("123456789"), *country.random.sample("0123456789", 9)]
    product = 10
    for digit in digits:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return "".join(digits) + str((11 - product) % 10)


COUNTRIES = (
    Country(
        "de",
        "de_DE",
        {
            "first": "vorname",
            "last": "nachname",
            "birth": "geburtsdatum",
            "street": "strasse",
            "mail": "emailAdresse",
            "phone": "telefon",
            "id": "steuerId",
            "iban": "iban",
            "card": "kreditkartennummer",
            "ip": "clientIp",
            "secret": "passwort",
            "city": "ort",
        },
        _steuer_id,
    ),
    Country(
        "es",
        "es_ES",
        {
            "first": "nombre",
            "last": "apellidos",
            "birth": "fecha_nacimiento",
            "street": "direccion",
            "mail": "correo",
            "phone": "telefono_movil",
            "id": "dni",
            "iban": "cuenta_iban",
            "card": "tarjeta",
            "ip": "ip_cliente",
            "secret": "contraseña",
            "city": "ciudad",
        },
        lambda country: country.fake.nif(),
    ),
    Country(
        "it",
        "it_IT",
        {
            "first": "nome",
            "last": "cognome",
            "birth": "dataDiNascita",
            "street": "indirizzo",
            "mail": "email",
            "phone": "cellulare",
            "id": "codiceFiscale",
            "iban": "codiceIban",
            "card": "numeroCarta",
            "ip": "indirizzoIp",
            "secret": "password",
            "city": "comune",
        },
        lambda country: country.fake.ssn(),
    ),
    Country(
        "fr",
        "fr_FR",
        {
            "first": "prenom",
            "last": "nom",
            "birth": "date_naissance",
            "street": "adresse",
            "mail": "courriel",
            "phone": "telephone",
            "id": "numero_secu",
            "iban": "iban",
            "card": "carte_bancaire",
            "ip": "adresse_ip",
            "secret": "mot_de_passe",
            "city": "ville",
        },
        lambda country: country.fake.ssn(),
    ),
    Country(
        "pl",
        "pl_PL",
        {
            "first": "imie",
            "last": "nazwisko",
            "birth": "dataUrodzenia",
            "street": "ulica",
            "mail": "eMail",
            "phone": "numerTelefonu",
            "id": "pesel",
            "iban": "numerKonta",
            "card": "numerKarty",
            "ip": "adresIp",
            "secret": "haslo",
            "city": "miasto",
        },
        lambda country: country.fake.pesel(),
    ),
    Country(
        "nl",
        "nl_NL",
        {
            "first": "voornaam",
            "last": "achternaam",
            "birth": "geboortedatum",
            "street": "straatnaam",
            "mail": "mailadres",
            "phone": "telefoonnummer",
            "id": "bsn",
            "iban": "rekeningIban",
            "card": "kaartnummer",
            "ip": "ip",
            "secret": "wachtwoord",
            "city": "woonplaats",
        },
        lambda country: country.fake.ssn(),
    ),
    Country(
        "se",
        "sv_SE",
        {
            "first": "fornamn",
            "last": "efternamn",
            "birth": "fodelsedatum",
            "street": "gatuadress",
            "mail": "epost",
            "phone": "mobilnummer",
            "id": "personnummer",
            "iban": "iban",
            "card": "kortnummer",
            "ip": "ip_adress",
            "secret": "losenord",
            "city": "postort",
        },
        lambda country: country.fake.ssn(),
    ),
    Country(
        "br",
        "pt_BR",
        {
            "first": "nome",
            "last": "sobrenome",
            "birth": "data_nascimento",
            "street": "logradouro",
            "mail": "email",
            "phone": "celular",
            "id": "cpf",
            "iban": "iban",
            "card": "numero_cartao",
            "ip": "ip_origem",
            "secret": "senha",
            "city": "cidade",
        },
        lambda country: country.fake.cpf(),
    ),
)


def _birth(country: Country) -> str:
    day = country.fake.date_of_birth(minimum_age=18, maximum_age=90)
    forms = {"de": "%d.%m.%Y", "fr": "%d/%m/%Y", "it": "%d/%m/%Y", "br": "%d/%m/%Y"}
    return day.strftime(country.random.choice([forms.get(country.code, "%Y-%m-%d"), "%Y-%m-%d"]))


def _place(country: Country) -> tuple[float, float]:
    choose = country.random
    return round(choose.uniform(-60, 65), 6), round(choose.uniform(-170, 170), 6)


def _noise(country: Country) -> dict[str, Any]:
    """Return fields that look like personal data and are none: numbers of things, hashes, versions, times."""
    choose, fake = country.random, country.fake
    return {
        "orderId": choose.randrange(10**15, 10**16),
        "invoiceNo": f"{fake.date('%Y%m')}-{choose.randrange(10**4):04}",
        "traceId": f"{choose.getrandbits(128):032x}",
        "sessionRef": fake.uuid4(),
        "offset": choose.randrange(10**11),
        "createdAt": choose.randrange(1_600_000_000_000, 1_800_000_000_000),
        "updated": fake.iso8601(),
        "appVersion": ".".join(str(choose.randrange(most)) for most in (20, 20, 300, 9)),
        "ean": fake.ean13(),
        "isbn": fake.isbn13(),
        "tracking": f"{choose.randrange(10**10, 10**11)}",
        "sku": f"{choose.randrange(10**8):08}{choose.choice('ABCDEFGH')}",
        "product": fake.word().capitalize(),
        "warehouse": fake.mac_address(),
        "image": f"https://cdn.shop.example/{fake.md5()}@2x.png",
        "amount": round(choose.uniform(1, 900), 2),
        "ratio": [choose.random(), choose.random()],
        "node": f"10.{choose.randrange(256)}.{choose.randrange(256)}.{choose.randrange(1, 255)}",
        "checksum": choose.getrandbits(63),
    }


def customer(country: Country) -> tuple[Any, Truth]:
    fake, names = country.fake, country.names
    value = _noise(country) | {
        names["first"]: fake.first_name(),
        names["last"]: fake.last_name(),
        names["birth"]: _birth(country),
        names["mail"]: fake.email(),
        names["phone"]: fake.phone_number(),
        names["id"]: country.national(),
        "home": {names["street"]: fake.street_address(), names["city"]: fake.city()},
    }
    truth = [("value", f"$.{names[name]}", kind) for name, kind in (
        ("first", "name"), ("last", "name"), ("birth", "birth_date"), ("mail", "email"), ("phone", "phone"),
        ("id", "national_id"),
    )]  # fmt: skip
    return value, [*truth, ("value", f"$.home.{names['street']}", "address")]


def payment(country: Country) -> tuple[Any, Truth]:
    fake, names = country.fake, country.names
    value = {
        "payment": {
            "ref": fake.uuid4(),
            names["iban"]: fake.iban(),
            names["card"]: fake.credit_card_number(),
        },
        names["ip"]: fake.ipv4_public(),
        "items": [_noise(country) for _ in range(2)],
        "note": f"Kontakt {fake.email()}, {fake.word()}",
    }
    return value, [
        ("value", f"$.payment.{names['iban']}", "iban"),
        ("value", f"$.payment.{names['card']}", "card"),
        ("value", f"$.{names['ip']}", "ip_address"),
        ("value", "$.note", "email"),
    ]


def position(country: Country) -> tuple[Any, Truth]:
    choose = country.random
    latitude, longitude = _place(country)
    form = choose.randrange(3)
    noise = _noise(country)
    if form == 0:
        value = noise | {"vehicle": {"lat": latitude, "lon": longitude}, "speed": choose.random()}
        return value, [("value", f"$.vehicle.{name}", "coordinates") for name in ("lat", "lon")]
    if form == 1:
        value = noise | {"geometry": {"type": "Point", "coordinates": [longitude, latitude]}}
        return value, [("value", "$.geometry.coordinates[]", "coordinates")] * 2
    value = noise | {"gps": f"{latitude}, {longitude}", "remote_ip": country.fake.ipv6()}
    return value, [("value", "$.gps", "coordinates"), ("value", "$.remote_ip", "ip_address")]


def login(country: Country) -> tuple[Any, Truth]:
    """Return a line of a log."""
    fake, choose = country.fake, country.random
    mail, address = fake.email(), fake.ipv4_public()
    line = f"{fake.iso8601()} INFO user {mail} logged in from {address} in {choose.randrange(900)} ms"
    line = f"{line}, session {fake.sha1()}"
    return line, [("value", "$", "email"), ("value", "$", "ip_address")]


def settings(country: Country) -> tuple[Any, Truth]:
    fake, choose, names = country.fake, country.random, country.names
    jwt = ".".join(
        ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJzdWIiOiI" + fake.pystr(20, 20), fake.pystr(43, 43))
    )
    key = "AKIA" + "".join(choose.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=16))
    secret = fake.password(length=choose.randrange(8, 24))
    value = _noise(country) | {
        names["secret"]: secret,
        "env": [f"AWS_ACCESS_KEY_ID={key}"],
        "url": f"postgresql://app:{fake.pystr(12, 12)}@db.shop.example:5432/app",
        "jwt": jwt,
    }
    return value, [
        ("value", f"$.{names['secret']}", "credential"),
        ("value", "$.env[]", "credential"),
        ("value", "$.url", "credential"),
        ("value", "$.jwt", "credential"),
    ]


def letter(country: Country) -> tuple[Any, Truth]:
    """Return a text in a field."""
    fake, names = country.fake, country.names
    text = f"{fake.sentence()} IBAN: {fake.iban()} {fake.sentence()} {names['id']}: {country.national()}"
    value = _noise(country) | {"body": text, "customer": {"name": fake.name()}}
    return value, [
        ("value", "$.body", "iban"),
        ("value", "$.body", "national_id"),
        ("value", "$.customer.name", "name"),
    ]


def noise(country: Country) -> tuple[Any, Truth]:
    return _noise(country), []


SHAPES = (customer, payment, position, login, settings, letter, noise)


def records() -> list[dict[str, Any]]:
    """Return the records in their order, each with its truth."""
    made = []
    for number in range(RECORDS):
        country = COUNTRIES[number // PER_BATCH % len(COUNTRIES)]
        shape = SHAPES[number % len(SHAPES)]
        value, truth = shape(country)
        key, headers = str(country.random.randrange(10**8)), [("trace", country.fake.uuid4())]
        if number % 10 == 3:
            key = country.fake.email()
            truth = [*truth, ("key", "$", "email")]
        if number % 10 == 7:
            headers.append(("authorization", f"Bearer {country.fake.pystr(40, 40)}"))
            truth = [*truth, ("header", "authorization", "credential")]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=number % 3 == 0)
        made.append(
            {"topic": f"events-{country.code}", "key": key, "value": text, "headers": headers, "truth": truth}
        )
    return made


def main() -> None:
    """Write both files."""
    made = records()
    talk = Conversation().handshake()
    for start in range(0, len(made), PER_BATCH):
        group = made[start : start + PER_BATCH]
        number = start // PER_BATCH
        batch = kafka_python_batch(
            [
                (1_760_000_000_000 + index, each["key"].encode(), each["value"].encode(),
                 [(name, value.encode()) for name, value in each["headers"]])
                for index, each in enumerate(group)
            ],
            _CODECS[number % len(_CODECS)],
        )  # fmt: skip
        topic, ref = group[0]["topic"], number + 1
        produced = {
            "acks": 1, "timeout_ms": 1000,
            "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}],
        }  # fmt: skip
        answered = {"responses": [{"name": topic, "partition_responses": [{"index": 0, "base_offset": 0}]}]}
        talk.client(encode_request(_PRODUCE, 7, ref, f"crm-{topic[-2:]}", produced))
        talk.broker(encode_response(_PRODUCE, 7, ref, answered))
    packets = talk.fin(CLIENT).packets
    path = HERE / "personal.pcap"
    write_pcap(path, packets)
    (HERE / "personal.pcap.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
    truth = "".join(json.dumps(each["truth"]) + "\n" for each in made)
    (HERE / "truth.jsonl.gz").write_bytes(gzip.compress(truth.encode(), mtime=0))


if __name__ == "__main__":
    main()
