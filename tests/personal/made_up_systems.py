"""2,000 made-up records of eight countries in the shapes of real systems, with what is personal in each."""

import base64
import json
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import quote_plus
from xml.sax.saxutils import escape, quoteattr

from tests.personal.made_up_people import COUNTRIES, Dice, Field, Person, fill, luhn, public_address, secret

RECORDS = 2_000


class Unseen(NamedTuple):
    """A record. `truth` counts what is personal by kind; `either` counts what is personal to some readers."""

    shape: str
    country: str
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...]
    truth: Counter[str]
    either: Counter[str]


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first.lower() + "".join(one.capitalize() for one in others) if others else name


def snake(name: str) -> str:
    text = "".join(f"_{one.lower()}" if one.isupper() and not name.isupper() else one for one in name)
    return text.strip("_").replace("__", "_").lower()


def moment(dice: Dice) -> str:
    return f"2026-0{dice.randint(1, 9)}-{dice.randint(10, 28)}T{dice.randint(10, 23)}:{dice.randint(10, 59)}:07.{fill(dice, '###')}Z"


def epoch(dice: Dice) -> int:
    return 1_780_000_000_000 + dice.randrange(10**10)


def identity(dice: Dice) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128), version=4))


def kinds(fields: list[Field]) -> Counter[str]:
    return Counter(one.kind for one in fields)


def town(dice: Dice) -> dict[str, Any]:
    return {dice.choice(("city", "town")): dice.choice(("Espoo", "Cork", "Pune", "Osaka", "Daegu", "Durban", "Iași", "Szeged")),
            dice.choice(("postalCode", "zip")): fill(dice, "#####")}  # fmt: skip


def place(dice: Dice) -> tuple[float, float]:
    return round(dice.uniform(-34, 65), 6), round(dice.uniform(10, 140), 6)


Made = tuple[bytes, Counter[str], Counter[str]]


def dumped(value: Any, dice: Dice) -> bytes:
    return json.dumps(
        value, ensure_ascii=dice.random() < 0.3, separators=(",", ":") if dice.random() < 0.7 else None
    ).encode()


def nested(person: Person, dice: Dice) -> Made:
    """Events of services: an envelope, a person or customer in it, and a list of devices with places."""
    fields, style = person.fields(), dice.choice((camel, snake))
    truth, either = kinds(fields), Counter[str]()
    inner: dict[str, Any] = {style(one.name): one.value for one in fields}
    inner["id"] = dice.randrange(10**6)
    if dice.random() < 0.3:
        inner |= town(dice)
        either["address"] = 2
    event: dict[str, Any] = {"eventId": identity(dice), "eventType": "CustomerUpdated", "occurredAt": moment(dice), "version": "1.4.2",
                             dice.choice(("customer", "user", "payload", "data", "applicant")): inner}  # fmt: skip
    if dice.random() < 0.7:
        latitude, longitude = place(dice)
        form = dice.choice((
            {"lat": latitude, "lon": longitude}, {"latitude": latitude, "longitude": longitude},
            {"location": f"{latitude},{longitude}"}, {"geometry": {"type": "Point", "coordinates": [longitude, latitude]}},
            {"gps": [latitude, longitude]}, {"lastPosition": {"lat": str(latitude), "lng": str(longitude)}},
        ))  # fmt: skip
        event["devices"] = [{"model": "SM-G991B", "os": "14.2.1", **form}]
        truth["coordinates"], either["coordinates"] = 1, 1
    return dumped(event, dice), truth, either


def change(person: Person, dice: Dice) -> Made:
    """Debezium: rows of a table before and after, dates as days, with and without the schema."""
    fields = person.fields()
    name = dice.choice((str.upper, str.lower))
    row: dict[str, Any] = {name("ID"): dice.randrange(10**6)}
    for one in fields:
        days = one.slot == "birth" and dice.random() < 0.5
        row[name(snake(one.name))] = (person.born - date(1970, 1, 1)).days if days else one.value
    row[name("UPDATED_AT")] = epoch(dice)
    truth = kinds(fields)
    before = None
    if dice.random() < 0.4:
        before, truth = dict(row), truth + truth
    source = {"version": "2.7.0.Final", "connector": "postgresql", "name": "crm", "ts_ms": epoch(dice), "db": "crm", "schema": "public",
              "table": "customers", "txId": dice.randrange(10**7), "lsn": dice.randrange(10**10), "xmin": None}  # fmt: skip
    event: dict[str, Any] = {
        "before": before,
        "after": row,
        "source": source,
        "op": "u" if before else "c",
        "ts_ms": epoch(dice),
        "transaction": None,
    }
    if dice.random() < 0.3:
        columns = [
            {"type": "int64" if isinstance(value, int) else "string", "optional": True, "field": key}
            for key, value in row.items()
        ]
        event = {
            "schema": {
                "type": "struct",
                "fields": [{"type": "struct", "fields": columns, "field": "after"}],
                "name": "crm.customers.Envelope",
            },
            "payload": event,
        }
    return dumped(event, dice), truth, Counter()


def outbox(person: Person, dice: Dice) -> Made:
    """JSON as a text in a field of JSON."""
    fields = person.fields()
    inside = json.dumps({camel(one.name): one.value for one in fields}, ensure_ascii=False)
    row = {
        "id": identity(dice),
        "aggregatetype": "customer",
        "aggregateid": str(dice.randrange(10**6)),
        "type": "CustomerMoved",
        "payload": inside,
    }
    return dumped(row, dice), kinds(fields), Counter()


def avro_json(person: Person, dice: Dice) -> Made:
    """Avro's JSON encoding: values of unions are objects with the name of the type."""
    fields = person.fields()
    row: dict[str, Any] = {camel(one.name): {"string": one.value} for one in fields}
    return (
        dumped(
            {"id": {"long": dice.randrange(10**9)}, **row, "createdAt": {"long": epoch(dice)}, "note": None},
            dice,
        ),
        kinds(fields),
        Counter(),
    )


def attributes(person: Person, dice: Dice) -> Made:
    """Lists of names and values, as forms and identity servers have them."""
    fields = person.fields()
    key, value = dice.choice(
        (("name", "value"), ("key", "value"), ("field", "answer"), ("attribute", "values"))
    )
    listed = [{key: one.name, value: [one.value] if value == "values" else one.value} for one in fields]
    listed.append({key: "newsletter", value: ["true"] if value == "values" else "true"})
    return (
        dumped(
            {
                "formId": identity(dice),
                "submittedAt": moment(dice),
                dice.choice(("attributes", "fields", "answers")): listed,
            },
            dice,
        ),
        kinds(fields),
        Counter(),
    )


def patient(person: Person, dice: Dice) -> Made:
    """A FHIR resource."""
    street, phone = person.field("street"), person.value_of("phone", "phone", plain=True)
    resource = {"resourceType": "Patient", "id": identity(dice), "meta": {"versionId": "3", "lastUpdated": moment(dice)},
                "name": [{"use": "official", "family": person.family, "given": [person.given]}],
                "telecom": [{"system": "phone", "value": phone, "use": "mobile"}, {"system": "email", "value": person.email}],
                "gender": "female", "birthDate": person.born.isoformat(),
                "address": [{"use": "home", "line": [street.value], "city": "Tampere", "postalCode": fill(dice, "#####"), "country": "FI"}]}  # fmt: skip
    return (
        dumped(resource, dice),
        Counter(name=2, phone=1, email=1, birth_date=1, address=1),
        Counter(address=2),
    )


def csv_lines(person: Person, dice: Dice) -> Made:
    """An export: a line of names, and one of values."""
    fields, comma = person.fields(), dice.choice(",;\t|")
    quoted = dice.random() < 0.4
    values = [f'"{one.value}"' if quoted or comma in one.value else one.value for one in fields]
    lines = [
        comma.join(["id", *(one.name for one in fields), "created"]),
        comma.join([str(dice.randrange(10**6)), *values, moment(dice)]),
    ]
    return "\n".join(lines).encode(), kinds(fields), Counter()


def to_string(person: Person, dice: Dice) -> Made:
    """What classes of Java and Kotlin print, in a line of a log."""
    fields = person.fields()
    left, right = dice.choice(("()", "{}", "[]"))
    quote = "'" if left == "{" else ""
    text = ", ".join(f"{camel(one.name)}={quote}{one.value}{quote}" for one in fields)
    stamp = moment(dice).replace("T", " ")[:23]
    line = f"{stamp} INFO [http-nio-8080-exec-{dice.randint(1, 9)}] c.e.crm.CustomerService : Saved Customer{left}id={dice.randrange(10**6)}, {text}{right} in {dice.randint(1, 90)} ms"
    return line.encode(), kinds(fields), Counter()


def key_values(person: Person, dice: Dice) -> Made:
    """Structured logs: key=value with quotes if there are blanks."""
    fields = person.fields()
    text = " ".join(
        f'{snake(one.name)}="{one.value}"'
        if " " in one.value or dice.random() < 0.3
        else f"{snake(one.name)}={one.value}"
        for one in fields
    )
    return (
        f"ts={moment(dice)} level=info logger=signup.flow trace={fill(dice, '################')} {text} status=ok duration=0.{fill(dice, '###')}".encode(),
        kinds(fields),
        Counter(),
    )


def access_log(person: Person, dice: Dice) -> Made:
    """A web server's line: who asked, for which address with which parameters."""
    fields = [one for one in person.fields() if one.slot != "ip"]
    query = "&".join(f"{snake(one.name)}={quote_plus(one.value)}" for one in fields)
    line = (f'{public_address(dice)} - - [12/Mar/2026:10:{fill(dice, "5#")}:07 +0000] "GET /api/v2/profile?{query} HTTP/1.1" 200 {dice.randint(200, 9000)} '
            f'"https://shop.example/start" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36"')  # fmt: skip
    return line.encode(), kinds(fields) + Counter(ip_address=1), Counter()


def elements(person: Person, dice: Dice) -> Made:
    """XML with elements or attributes, with a namespace or none."""
    fields, space = person.fields(), dice.choice(("", "ns2:", "c:"))
    named = [(camel(one.name), one.value) for one in fields]
    if dice.random() < 0.5:
        inner = (
            f'<{space}customer id="{dice.randrange(10**6)}" '
            + " ".join(f"{name}={quoteattr(value)}" for name, value in named)
            + "/>"
        )
    else:
        inner = (
            f"<{space}customer>"
            + "".join(f"<{space}{name}>{escape(value)}</{space}{name}>" for name, value in named)
            + f"</{space}customer>"
        )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{space}message sent="{moment(dice)}">{inner}</{space}message>'.encode(),
        kinds(fields),
        Counter(),
    )


def credit_transfer(person: Person, dice: Dice) -> Made:
    """A part of a payment of ISO 20022."""
    account, street = person.value_of("iban", "").replace(" ", ""), person.value_of("street", "")
    text = (f'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CdtTrfTxInf><PmtId><EndToEndId>{identity(dice)[:30]}</EndToEndId></PmtId>'
            f'<Amt><InstdAmt Ccy="EUR">{dice.randint(1, 900)}.20</InstdAmt></Amt><Cdtr><Nm>{escape(person.given)} {escape(person.family)}</Nm>'
            f"<PstlAdr><StrtNm>{escape(street)}</StrtNm><PstCd>{fill(dice, '#####')}</PstCd><Ctry>FI</Ctry></PstlAdr></Cdtr>"
            f"<CdtrAcct><Id><IBAN>{account}</IBAN></Id></CdtrAcct></CdtTrfTxInf></Document>")  # fmt: skip
    return text.encode(), Counter(name=1, address=1, iban=1), Counter(address=1)


def form(person: Person, dice: Dice) -> Made:
    """What a browser posts."""
    fields = person.fields()
    pairs = [
        ("csrf", fill(dice, "########")),
        *((snake(one.name), one.value) for one in fields),
        ("submit", "1"),
    ]
    return (
        "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in pairs).encode(),
        kinds(fields),
        Counter(),
    )


def card_of_contact(person: Person, dice: Dice) -> Made:
    """A vCard."""
    phone = person.value_of("phone", "", plain=True)
    text = f"BEGIN:VCARD\nVERSION:4.0\nFN:{person.given} {person.family}\nN:{person.family};{person.given};;;\nEMAIL;TYPE=work:{person.email}\nTEL;TYPE=cell:{phone}\nBDAY:{person.born:%Y%m%d}\nREV:20260101T101112Z\nEND:VCARD"
    return text.encode(), Counter(name=1, email=1, phone=1, birth_date=1), Counter(name=2)


def sentence(person: Person, dice: Dice) -> Made:
    """What people write to a service desk. Names in a sentence have no telling name, and are not expected."""
    phone, national = person.value_of("phone", "", plain=True), person.field("national")
    account, number = person.value_of("iban", ""), person.value_of("card", "")
    grouped = " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    latitude, longitude = place(dice)
    address, token = public_address(dice), secret(dice)
    text, kind = dice.choice((
        (f"Hello, please call me back at {phone} after 5 pm, order 4711-{fill(dice, '####')} has not come.", "phone"),
        (f"My new address for invoices is {person.email}, thanks!", "email"),
        (f"Please refund EUR 25.00 to {account} until Friday.", "iban"),
        (f"The payment with card {grouped} was taken twice.", "card"),
        (f"My {national.name} is {national.value}. Is that enough?", "national_id"),
        (f"Login from {address} was blocked, ticket INC{fill(dice, '#######')}.", "ip_address"),
        (f"Driver waits at geo:{latitude},{longitude} since noon.", "coordinates"),
        (f"mail sent to <{person.email}>; queue id 4XyZ{fill(dice, '####')}", "email"),
        (f"curl -H 'Authorization: Bearer {base64.urlsafe_b64encode(dice.randbytes(30)).decode()}' https://api.example/v1", "credential"),
        (f"jdbc:postgresql://app:{token}@db-1.internal:5432/crm is not reachable", "credential"),
        (f"export DB_PASSWORD={token}", "credential"),
    ))  # fmt: skip
    value = (
        text.encode()
        if dice.random() < 0.5
        else dumped({"ticket": dice.randrange(10**6), "lang": "en", "body": text}, dice)
    )
    return value, Counter({kind: 1}), Counter()


def secrets_of_systems(person: Person, dice: Dice) -> Made:
    """Configurations and logins with secrets of several forms."""
    head = base64.urlsafe_b64encode(b'{"alg":"RS256","typ":"JWT"}').decode().rstrip("=")
    body = (
        base64.urlsafe_b64encode(json.dumps({"sub": identity(dice), "exp": epoch(dice)}).encode())
        .decode()
        .rstrip("=")
    )
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    name, value = dice.choice((
        ("jwt", f"{head}.{body}.{base64.urlsafe_b64encode(dice.randbytes(64)).decode().rstrip('=')}"),
        ("accessKeyId", "AKIA" + "".join(dice.choice(alphabet) for _ in range(16))),
        ("repo_auth", "ghp_" + "".join(dice.choice("abcdefghijkABCDEFGHIJK0123456789") for _ in range(36))),
        ("url", f"amqp://shop:{secret(dice)}@mq.internal:5672/orders"),
        ("auth", "Basic " + base64.b64encode(f"svc-{dice.randint(1, 99)}:{secret(dice)}".encode()).decode()),
        ("refresh_token", secret(dice) + secret(dice)), ("db.password", secret(dice)), ("clientSecret", secret(dice)),
        ("sasl.jaas.config", f'org.apache.kafka.common.security.plain.PlainLoginModule required username="svc" password="{secret(dice)}";'),
    ))  # fmt: skip
    event = {
        "service": "billing",
        "level": "DEBUG",
        "settings": {name: value, "timeout.ms": 3000, "retries": 5},
        "user": {person.name_of("email"): person.email},
    }
    return dumped(event, dice), Counter(credential=1, email=1), Counter()


PERSONAL: list[tuple[Callable[[Person, Dice], Made], int]] = [
    (nested, 6), (change, 4), (outbox, 2), (avro_json, 2), (attributes, 2), (patient, 1), (csv_lines, 3), (to_string, 2), (key_values, 2),
    (access_log, 2), (elements, 3), (credit_transfer, 1), (form, 2), (card_of_contact, 1), (sentence, 4), (secrets_of_systems, 2),
]  # fmt: skip


def plain(dice: Dice) -> tuple[str, bytes]:
    """Something that has numbers and names as personal data has them, and none."""
    digits13, digits16 = fill(dice, "4############"), luhn(fill(dice, "4##############"))
    digest = f"{dice.getrandbits(160):040x}"
    samples: dict[str, Any] = {
        "order": {"orderId": int(digits16), "order_no": fill(dice, "30########"), "sku": "SKU-" + fill(dice, "####-##"), "qty": 3, "price": 19.95,
                  "name": "Blue chair", "ean": digits13, "status": "SHIPPED", "createdAt": epoch(dice)},
        "parcel": {"trackingNumber": fill(dice, "1Z###A###########"), "carrier": "UPS", "consignment": fill(dice, "00340434##########"), "weight_g": 1250,
                   "events": [{"code": "DEP", "at": moment(dice), "hub": "HEL-2"}]},
        "build": {"commit": digest, "image": f"registry.example/app@sha256:{dice.getrandbits(256):064x}", "version": fill(dice, "1.#.#.1#"), "os": "10.0.19045.3803",
                  "artifacts": ["logo@2x.png", "@types/node@18.0.1", "org.slf4j:slf4j-api:2.0.13"], "duration": 12.125},
        "metric": {"name": "jvm.memory.used", "value": dice.random() * 10**9, "tags": {"area": "heap", "id": "G1 Old Gen", "host": "node-4"}, "ts": epoch(dice)},
        "usage": {"model": "m-large", "usage": {"prompt_tokens": 812, "completion_tokens": 97, "max_tokens": 4096}, "token_type": "Bearer", "requestId": identity(dice)},
        "policy": {"password_min_length": 12, "passwordExpiresAt": moment(dice), "password_reset_required": True, "show_phone": True, "phone_type": "MOBILE",
                   "email_verified": True, "address_type": "SHIPPING", "birth_date_visible": "no", "card_type": "VISA", "iban_required": "false"},
        "hidden": {"password": "********", "card": "************" + fill(dice, "####"), "email": None, "phone": "", "token": "[REDACTED]"},
        "labels": {"label.email": "E-mail address", "label.phone": "Phone number", "label.password": "Choose a password", "error.iban": "This IBAN is not valid"},
        "schema": {"type": "object", "properties": {"email": {"type": "string", "format": "email"}, "birthDate": {"type": "string", "format": "date"},
                   "phone": {"type": "string", "pattern": "^[+][0-9]{7,15}$"}, "lastName": {"type": "string", "maxLength": 80}}},
        "pod": {"kind": "Pod", "metadata": {"name": "crm-7d9f-x2x4z", "uid": identity(dice), "labels": {"app.kubernetes.io/name": "crm"}},
                "status": {"phase": "Running", "startTime": moment(dice)}, "bootstrap": f"10.2.{dice.randint(0, 255)}.17:9092"},
        "shard": {"shard": 4, "offset": int(fill(dice, "9##########")), "lag": 12, "leader_epoch": 42, "hash": dice.getrandbits(63), "etag": f'W/"{digest[:16]}"'},
        "chain": {"tx": "0x" + digest + digest[:24], "to": "0x" + digest, "nonce": 12, "gasPrice": int(fill(dice, "2##########")), "block": int(fill(dice, "19######"))},
        "sensor": {"serial": fill(dice, "SN-####-####-####"), "imei": luhn(fill(dice, "35############")), "temp": 21.375, "humidity": 52.125, "accel": [0.01221, -0.98212, 0.13131]},
        "product": {"product": {"name": "Kovács stove", "brand": "Nagy", "isbn": "978" + fill(dice, "##########"), "dimensions": "120.5 x 60.25 x 40.125"}},
        "quote": {"symbol": "NOKIA.HE", "bid": 3.5125, "ask": 3.5135, "lot": fill(dice, "######"), "isin": "FI000" + fill(dice, "#######"), "lei": fill(dice, "####00@@@@@@@@@@@@##")},
    }  # fmt: skip
    name = dice.choice((*samples, "line", "prometheus", "csv", "trace", "flat", "config"))
    if name in samples:
        return name, dumped(samples[name], dice)
    return name, {
        "line": f"{moment(dice)} WARN [main] o.a.k.c.NetworkClient - Node -1 disconnected, correlation id {fill(dice, '#######')}, took {fill(dice, '####')} ms, batch {identity(dice)}",
        "prometheus": f'http_requests_total{{code="200",handler="/api/v1/users",version="2.45.0.1"}} {fill(dice, "1######")} {epoch(dice)}',
        "csv": f"sku;name;qty;price;ean\n{fill(dice, '######')};Garden table;12;49.90;{digits13}\n",
        "trace": f"00-{dice.getrandbits(128):032x}-{dice.getrandbits(64):016x}-01",
        "flat": f"order_id={fill(dice, '##########')} batch={fill(dice, '############')} amount=120.50 currency=HUF version=3.{fill(dice, '#.#')}.0 ref=RF{fill(dice, '################')}",
        "config": "retention.ms=604800000\nsegment.bytes=1073741824\nconfluent.value.schema.validation=false\nssl.keystore.type=PKCS12",
    }[name].encode()  # fmt: skip


def carriers(person: Person, dice: Dice) -> tuple[bytes | None, tuple[tuple[str, bytes], ...], Counter[str]]:
    """A key and headers: mostly of machines, sometimes of a person."""
    key: bytes | None = dice.choice(
        (
            None,
            identity(dice).encode(),
            str(dice.randrange(10**8)).encode(),
            f"order-{fill(dice, '######')}".encode(),
        )
    )
    headers = [
        ("traceparent", f"00-{dice.getrandbits(128):032x}-{dice.getrandbits(64):016x}-01".encode()),
        ("content-type", b"application/json"),
    ]
    truth = Counter[str]()
    if dice.random() < 0.1:
        key = dice.choice(
            (person.email, f"user:{person.email}", json.dumps({"email": person.email}))
        ).encode()
        truth["email"] += 1
    if dice.random() < 0.15:
        name, value, kind = dice.choice((
            ("X-Forwarded-For", public_address(dice), "ip_address"), ("x-user-email", person.email, "email"), ("Authorization", f"Bearer {secret(dice)}{secret(dice)}", "credential"),
            ("X-Real-IP", f"192.168.{dice.randint(0, 255)}.{dice.randint(1, 250)}", "ip_address"), ("x-api-key", secret(dice), "credential"),
            ("msisdn", person.value_of("phone", "", plain=True), "phone"),
        ))  # fmt: skip
        headers.append((name, value.encode()))
        truth[kind] += 1
    return key, tuple(headers), truth


def records(seed: int = 53) -> Iterator[Unseen]:
    dice = random.Random(seed)
    shapes = [shape for shape, weight in PERSONAL for _ in range(weight)]
    for _ in range(RECORDS):
        code = dice.choice(list(COUNTRIES))
        person = Person(dice, COUNTRIES[code], dice.random() < 0.45)
        if dice.random() < 0.27:
            name, value = plain(dice)
            yield Unseen(
                f"plain {name}",
                code,
                identity(dice).encode(),
                value,
                (("content-type", b"text/plain"),),
                Counter(),
                Counter(),
            )
            continue
        shape = dice.choice(shapes)
        value, truth, either = shape(person, dice)
        key, headers, more = carriers(person, dice)
        yield Unseen(shape.__name__, code, key, value, headers, truth + more, either)
