"""Personal data in texts and values, and things that only look like it."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.personal.bounds import MAX_CONTENT, MAX_HITS
from kdissect.personal.contents import Form, examine, masked
from kdissect.personal.hits import Confidence

for module in ("phonenumbers", "stdnum"):
    pytest.importorskip(module, reason="needs the extra personal")

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


def found(value: Any, name: str = "") -> list[tuple[str, str, str]]:
    """Return path, kind and text of the hits."""
    data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
    return [
        (one.leaf.path, str(one.hit.kind), one.leaf.text[one.hit.start : one.hit.end])
        for one in examine(data, name).found
    ]


def confidence(value: Any) -> Confidence:
    (one,) = examine(json.dumps(value).encode()).found
    return one.hit.confidence


FINDS = {
    "the phone of libphonenumber": (
        "phone",
        {"rider": {"phone": {"countryCode": 358, "nationalNumber": "504857170"}}},
    ),
    "phone with zeros": ("phone", "tel. of shop;0049 30 901820;x"),
    "phone in a query": ("phone", "a=1&phone=0049%2030%20901820&b=2"),
    "email in a query with percent codes": ("email", "a=1&to=anna%40example.com"),
    "iban in small letters": ("iban", "x,de89370400440532013000,y"),
    "ES in small letters": ("national_id", {"dni": "54362315k"}),
    "name in a line of logs": ("name", 'level=info lastName="Muster Meier" ok'),
    "name in xml": ("name", "<a><lastName>Muster</lastName></a>"),
    "address in a query": ("address", "street=Main%20Road%2012&x=1"),
    "birth date in a query": ("birth_date", "x=1&birthDate=1980-02-03"),
    "email": ("email", {"to": "anna.muster+a@firma.de"}),
    "email in a text": ("email", "mail <o'brien@example.co.uk>, thanks"),
    "email in a form": ("email", "GET /login?email=anna@example.com&x=1 HTTP/1.1"),
    "email in a path": ("email", "/users/anna@example.com/orders"),
    "email in colours": ("email", "\x1b[32mINFO\x1b[0m user anna@example.com logged in"),
    "email with a zero at its end": ("email", "anna@example.com\0"),
    "phone": ("phone", {"phone": "+49 30 901820"}),
    "phone without a name": ("phone", "please call +44 20 7946 0958 today"),
    "phone of a plan": ("phone", {"telefon": "030 901820"}),
    "phone as a number": ("phone", {"mobile": 4915112345678}),
    "iban": ("iban", "to GB82 WEST 1234 5698 7654 32 please"),
    "iban before a short word": ("iban", "to BE66101169442643 ref 5493958"),
    "iban in groups before a short word": ("iban", "to CZ40 3974 6403 8862 1817 5318 ref 1464966"),
    "CZ, birth number": ("national_id", {"birthNumber": "780123/3540"}),
    "AT": ("national_id", {"versicherungsnummer": "1237 010180"}),
    "birth date in Czech": ("birth_date", {"datumNarozeni": "1976-05-24"}),
    "birth date in Danish": ("birth_date", {"foedselsdato": "14-02-1966"}),
    "name in Czech": ("name", {"prijmeni": "Malá", "email": None}),
    "name in Danish": ("name", {"efternavn": "Kristensen"}),
    "address in Portuguese": ("address", {"morada": "Rua Machado, 33"}),
    "phone in Portuguese": ("phone", {"telemovel": "+351 912 342 055"}),
    "card": ("card", {"card_number": "4111111111111111"}),
    "card in groups": ("card", "4111 1111 1111 1111"),
    "card of fifteen digits": ("card", {"pan": "378282246310005"}),
    "DE": ("national_id", {"steuerId": "86095742719"}),
    "ES": ("national_id", {"dni": "54362315K"}),
    "ES, NIE": ("national_id", {"nie": "X2482300W"}),
    "IT": ("national_id", "RCCMNL83S18D969H"),
    "FR": ("national_id", "295109912611193"),
    "PL": ("national_id", {"pesel": "44051401359"}),
    "PL as a number": ("national_id", {"pesel": 44051401359}),
    "NL": ("national_id", {"bsn": "111222333"}),
    "SE": ("national_id", {"personnummer": "880320-0016"}),
    "FI": ("national_id", "131052A308T"),
    "BR": ("national_id", "390.533.447-05"),
    "CN": ("national_id", "11010519491231002X"),
    "US": ("national_id", "SSN: 536-90-4399"),
    "GB": ("national_id", {"national_insurance": "QQ123456C".replace("QQ", "AB")}),
    "ip": ("ip_address", "from 93.184.216.34"),
    "ip in a URL": ("ip_address", "http://81.2.69.142/x"),
    "ip after a slash": ("ip_address", "connected to /81.2.69.142:443"),
    "ip of a private network": ("ip_address", {"client_ip": "10.1.2.3"}),
    "ip, version 6": ("ip_address", {"remote_addr": "2a00:1450:4001:81b::200e"}),
    "geo uri": ("coordinates", "geo:52.520008,13.404954"),
    "directions": ("coordinates", "52.520008° N, 13.404954° E"),
    "jwt": ("credential", JWT),
    "bearer": ("credential", "Bearer abcdefghij0123456789"),
    "basic": ("credential", "Basic YW5uYTpzZWNyZXQ="),
    "aws": ("credential", "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE"),
    "aws secret": ("credential", {"aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}),
    "private key": ("credential", PEM),
    "url": ("credential", "amqp://app:hunter2@mq.example.com:5672"),
    "password": ("credential", {"db": {"password": "hunter2"}}),
    "password in a text": ("credential", "user=app password=hunter2 host=db"),
    "password in quotes": ("credential", 'password="my secret pass"'),
    "password of a database": ("credential", "dbPassword=hunter22"),
    "password of an option": ("credential", "run --password hunter22 --host db"),
    "name": ("name", {"firstName": "Anna"}),
    "name of a person": ("name", {"customer": {"name": "Anna Muster"}}),
    "birth": ("birth_date", {"dateOfBirth": "1980-02-29"}),
    "address": ("address", {"street": "Hauptstraße 5"}),
    "address without a number": ("address", {"cust": {"street": "The Old Mill, Kinsale Road"}}),
    "name in CSV": ("name", "id;lastName\n7;Muster Meier\n"),
    "card in quotes of CSV": ("card", 'id,card_no\r\n7,"4111111111111111"\r\n'),
    "name in toString": ("name", "saved User(id=7, fullName=Anna Muster, active=true) ok"),
    "name in Avro's JSON": ("name", {"lastName": {"string": "Muster"}}),
    "name in parts": ("name", {"name": {"last": "Muster"}}),
    "name of ISO 20022": ("name", "<Cdtr><Nm>Anna Muster</Nm></Cdtr>"),
    "name in an attribute of XML": ("name", '<user id="7" lastName="Muster"/>'),
    "name after a label": ("name", "Dear team\nLast name: Muster\nThanks"),
    "name in a vCard": ("name", "BEGIN:VCARD\nFN:Anna Muster\nEND:VCARD"),
    "name in a form": ("name", "a=1&full_name=Anna+Muster&b=2"),
    "a list of names and values": ("phone", {"fields": [{"name": "phone", "value": "030 901820"}]}),
    "an email in JSON in JSON": ("email", {"payload": '{"to": "\\u00e9 \\"anna@example.com\\""}'}),
    "JSON after a text": ("name", 'INFO got {"lastName": "Muster"}'),
    "birth date as days": ("birth_date", {"birth_date": 10957}),
    "birth date as milliseconds": ("birth_date", {"birthDate": 946771200000}),
    "birth date in Hungarian": ("birth_date", {"szuletesi_datum": "1980. 02. 03."}),
    "birth date with a month": ("birth_date", {"dob": "03-Feb-1980"}),
    "names in Korean": ("name", {"고객성명": "김민준"}),
    "address in Japanese": ("address", {"現住所": "東京都千代田区丸の内1-9-1"}),
    "phone in Greek": ("phone", {"κινητόΤηλέφωνο": "694 123 4567"}),
    "joined words": ("birth_date", {"dateofbirth": "1980-02-03"}),
    "HU, TAJ": ("national_id", {"taj_szam": "111 111 110"}),
    "HU, tax id": ("national_id", {"adoazonosito_jel": "8071592153"}),
    "JP": ("national_id", {"myNumber": "123456789018"}),
    "IN, PAN": ("national_id", {"pan_number": "ABCPE1234F"}),
    "MX, RFC": ("national_id", {"rfc": "GODE561231GR8"}),
    "name in a table of JSON": ("name", {"columns": ["id", "lastName"], "rows": [[None, "Muster"]]}),
    "phone in an attribute of OpenTelemetry": (
        "phone",
        {"attributes": [{"key": "user.phone", "value": {"stringValue": "030 901820"}}]},
    ),
    "phone that changed": ("phone", {"field": "phone", "old": None, "new": "030 901820"}),
    "address in a list": ("address", {"addresses": [{"line1": "Main Road 12"}]}),
    "name in INSERT": ("name", "INSERT INTO t (id, last_name) VALUES (7, 'O''Connor'), (8, NULL);"),
    "name in UPDATE": ("name", "UPDATE t SET last_name = 'Muster', v = v + 1 WHERE id = 7"),
    "name in multipart": (
        "name",
        '--b\r\nContent-Disposition: form-data; name="lastName"\r\n\r\nMuster\r\n--b--\r\n',
    ),
    "name of an attendee": (
        "name",
        "BEGIN:VCALENDAR\r\nATTENDEE;ROLE=CHAIR;CN=Anna Muster:urn:x\r\nEND:VCALENDAR\r\n",
    ),
    "name in a table of Markdown": ("name", "| Field | Value |\n|---|---|\n| Last name | Muster |\n"),
    "id in a table of Markdown": ("national_id", "| Field | Value |\n|---|---|\n| NIF | 54362315-K |\n"),
    "name in Protobuf's text": ("name", 'id: 7 customer { last_name: "Muster" } v: 2'),
    "name in Python's text": ("name", "saved {'id': 7, 'last_name': 'Muster', 'ok': True} now"),
    "name in a struct of Go": ("name", "&{ID:7 LastName:Muster Active:true}"),
    "name in German": ("name", {"zuname": "Muster"}),
    "name in French": ("name", {"nom_usuel": "Muster"}),
    "name in Portuguese": ("name", {"nome_do_cliente": "Ana Muster"}),
    "birth date in French": ("birth_date", "Né le: 03/02/1980\nOK"),
    "birth as days": ("birth_date", {"born_on": 11743}),
    "card in Turkish": ("card", "Kart numaram 4111111111111111"),
    "phone in a sentence in German": ("phone", "Bitte rufen Sie mich an: 030 901820"),
    "token of an API": ("credential", {"API_TOKEN": "e7aea53e515324f72f3bbece2bffae85"}),
    "key of SendGrid": ("credential", f"rotate SG.{'a1' * 11}.{'b2' * 21}c today"),
    "token of npm": ("credential", f"rotate npm_{'a1' * 18} today"),
    "key of Azure": ("credential", f"AccountName=x;AccountKey={'a1' * 43}==;EndpointSuffix=y"),
    "a field that another one names": ("phone", {"type": "mobile", "value": "030 901820"}),
    "a field that a later one names": ("national_id", {"documentNumber": "54362315K", "documentType": "DNI"}),
    "a system of identifiers": (
        "national_id",
        {"identifier": [{"system": "https://fhir.nhs.uk/Id/nhs-number", "value": "9434765919"}]},
    ),
    "a change of JSON Patch": ("birth_date", {"op": "add", "path": "/user/dob", "value": "1980-02-03"}),
    "a typed value of DynamoDB": ("name", {"lastName": {"S": "Muster"}}),
    "a date of MongoDB": ("birth_date", {"birthDate": {"$date": {"$numberLong": "318384000000"}}}),
    "birth date with two digits of the year": ("birth_date", {"dob": "03/02/80"}),
    "birth date of an airline": ("birth_date", {"dob": "29DEC87"}),
    "birth date as a number of its digits": ("birth_date", {"dob": 19800203}),
    "birth date as seconds": ("birth_date", {"dob": 318384000}),
    "birth date of .NET": ("birth_date", {"dob": "/Date(318384000000)/"}),
    "birth date with a month in Spanish": ("birth_date", {"fecha_nacimiento": "3 de febrero de 1980"}),
    "birth date with a month in Polish": ("birth_date", {"dataUrodzenia": "3 lutego 1980"}),
    "birth date in a sentence": ("birth_date", "I was born on 3 February 1980 in Berlin"),
    "birth date before its word": ("birth_date", {"text": "Ich bin am 03.02.1980 geboren"}),
    "birth date in a sentence in Japanese": ("birth_date", {"text": "生年月日は1972/05/30です"}),
    "phone in digits of full width": (
        "phone",
        {"電話番号": "\uff10\uff19\uff10\uff0d\uff11\uff18\uff18\uff17\uff0d\uff18\uff11\uff14\uff10"},
    ),
    "iban with blanks that do not break": (
        "iban",
        {"x": "DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000"},
    ),
    "iban with hyphens": ("iban", "DE89-3704-0044-0532-0130-00"),
    "name with marks that combine": ("name", {"surname": "สันตะวงศ์"}),
    "name of a child of someone": ("name", {"surname": "a/l Subramaniam"}),
    "name in Ukrainian in Latin letters": ("name", {"Prizvyshche": "Чабан"}),
    "joined words with a person": ("name", {"buyerlastname": "Muster"}),
    "compound of an address": ("address", {"WOHNADRESSE": "Rue de Lausanne 162, 6900 Lugano"}),
    "street whose number is apart": ("address", {"street": "Hauptstraße", "houseNumber": "5"}),
    "name in a log in JSON": ("name", {"log": "level=info lastName=Muster ok"}),
    "name in XML in JSON": ("name", {"payload": "<c><lastName>Muster</lastName></c>"}),
    "address in a table of HTML": ("address", {"html": "<tr><td>Adresse:</td><td>Main Road 5</td></tr>"}),
    "name in a file of settings": ("name", "[customer]\nlast_name = Muster\n"),
    "name in LDIF": ("name", "dn: uid=7\nobjectClass: person\nsn: Muster\n"),
    "name after another label": ("name", "Order: 7, Last name: Muster, ok: 1"),
    "position as well-known text": ("coordinates", "POINT(13.404954 52.520008)"),
    "position in degrees and minutes": ("coordinates", "52°31'12.0\"N 13°24'17.8\"E"),
    "position in a URL": ("coordinates", "https://maps.example/?q=52.520008,13.404954"),
    "position of a receiver": ("coordinates", "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M"),
    "ip of one host": ("ip_address", {"ip": "93.184.216.34/32"}),
    "random token": ("credential", {"token": "e7aea53e515324f72f3bbece2bffae85"}),
    "random secret in a text": ("credential", "STRIPE_SECRET=e7aea53e515324f72f3bbece2bffae85"),
    "password of a command": ("credential", "PGPASSWORD=kJ8sQp2vX9zL psql -h db"),
    "password in a sentence": ("credential", "Your password is kJ8s-Qp2vX9zL4mT now"),
    "login of Docker": ("credential", {"auth": "YW5uYTpzZWNyZXQ="}),
    "key of PGP": (
        "credential",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdGBF\n-----END PGP PRIVATE KEY BLOCK-----",
    ),
    "CO": ("national_id", {"Cédula de ciudadanía": "1.064.879.644"}),
}


def test_the_name_before_an_email_address() -> None:
    text = "From: Anna Muster <anna@example.com>\r\nSubject: Order\r\n"
    assert sorted(one[1:] for one in found(text)) == [("email", "anna@example.com"), ("name", "Anna Muster")]


def test_parts_of_a_birth_date() -> None:
    assert [one[1] for one in found({"dob": {"year": 1980, "month": 2, "day": 3}})] == ["birth_date"] * 3
    assert found({"dob": {"year": 80, "month": 2, "day": 30}}) == []


def test_two_positions_in_a_struct() -> None:
    value = {"pickup_lat": 52.520008, "pickup_lon": 13.404954, "dropoff_lat": 52.5101, "dropoff_lon": 13.4101}
    assert [one[1] for one in found(value)] == ["coordinates"] * 4


def test_fields_of_people_in_a_health_message() -> None:
    text = (
        "MSH|^~\\&|A|B|C|D|20260101||ADT^A01|1|P|2.5.1\r"
        "PID|1||7^^^H^MR||Muster^Anna||19800203|F|||Main Road 5^^Berlin||+49 30 901820\r"
    )
    assert sorted(one[1:] for one in found(text)) == [
        ("address", "Main Road 5"),
        ("birth_date", "19800203"),
        ("name", "Anna"),
        ("name", "Muster"),
        ("phone", "+49 30 901820"),
    ]


def test_lines_of_json() -> None:
    lines = '{"phone": "030 901820", "upd": 1761101666761}\n{"lastName": "Muster"}\n'
    assert [one[1:] for one in found(lines)] == [("phone", "030 901820"), ("name", "Muster")]
    assert (
        masked(examine(lines.encode()))
        == lines.replace("030 901820", "x" * 10).replace("Muster", "x" * 6).encode()
    )


def test_fields_in_a_text_of_json_are_masked_where_they_are() -> None:
    value = {"q": "a=1&full_name=Anna%20M%C3%BCster&b=2", "n": 1}
    assert json.loads(masked(examine(json.dumps(value).encode()))) == {
        "q": f"a=1&full_name={'x' * 18}&b=2",
        "n": 1,
    }


def test_names_before_addresses_in_json() -> None:
    value = {"from": "Anna Muster <anna@example.com>", "to": ["Support Team <help@example.com>"]}
    assert [one[2] for one in found(value) if one[1] == "name"] == ["Anna Muster"]


def test_coordinates_in_turkish() -> None:
    assert [one[1] for one in found({"enlem": 41.01234, "boylam": 28.97654})] == ["coordinates"] * 2


def test_statements_that_are_cut() -> None:
    row = "INSERT INTO t (first_name, last_name) VALUES ('Anna', 'Muster')"
    assert [one[2] for one in found(row)] == ["Anna", "Muster"]
    assert [one[2] for one in found(row[:-3])] == ["Anna"]
    assert [one[2] for one in found(row.replace("'Anna'", "lower('Anna')"))] == []


@pytest.mark.parametrize("case", FINDS)
def test_it_is_found_and_masked(case: str) -> None:
    kind, value = FINDS[case]
    assert [one[1] for one in found(value)] == [kind]
    data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
    without = masked(examine(data))
    assert len(without) == len(data)
    assert not examine(without).found
    if not isinstance(value, str):
        json.loads(without)


LOOKALIKES = {
    "no email": "icon@2x.png, git@github.com:a/b, Bar@1a2b3c, kafka/broker1@EXAMPLE.local",
    "a principal of a service": "kafka/broker1.example.com@EXAMPLE.COM",
    "a unit of systemd": "getty@tty1.service",
    "a hardware address": "00:11:22:33:44:55:66:77",
    "a world wide name": {"wwn": "50:06:01:60:3b:a0:11:22"},
    "a product and its version": "Chrome/93.184.216.34",
    "a directory": "PWD=/usr/local/bin",
    "a directory as a field": {"pwd": "/home/x/y"},
    "a message about passwords": "invalid password: user not found",
    "a state of a token": "access_token: expired",
    "a type": "password: string",
    "a variable": "password=$DB_PASS",
    "code": 'secret_key: os.environ["X"]',
    "an order number": {"orderId": 4111111111111111},
    "an order number as text": {"order": "4111111111111111"},
    "a card's id": {"card_id": "4111111111111111"},
    "a wrong check digit": {"card_number": "4111111111111112"},
    "a wrong iban": "DE89370400440532013001",
    "a wrong length of an iban": "DE8937040044053201300",
    "eleven digits": {"tracking": "44051401359"},
    "a wrong id": {"pesel": "44051401358"},
    "a version": {"version": "93.184.216.34"},
    "a private network": {"node": "10.1.2.3:9092"},
    "a local address": {"client_ip": "127.0.0.1"},
    "a time": {"phone_verified_at": 1700000000000, "at": "12:34:56", "mac": "a2:77:f9:db:ba:dc"},
    "a program": "std::vector a::b::c ::1",
    "a region": {"lat": 52.5, "lon": 13.0},
    "one of two": {"lat": 52.520008},
    "a text about a field": {"label.password": "Choose a password", "email.hint": "anna at home"},
    "a number after another field": 'phone=0301234567x HTTP/1.1" 200 1887 ',
    "a name of a label": {"labels": [{"name": "Email", "value": "disabled"}]},
    "numbers that are no days": {"birth_weight": 3412, "birthday": 29, "birth_year": 1985, "birthDate": 1985},
    "CSV without telling names": "sku;title\n7;Garden Table\n",
    "a level of a log": "ERROR: Disk Full",
    "two numbers": "1.23456, 2.34567",
    "a uuid": {"phone": "12345678-90ab-cdef-1234-567890abcdef"},
    "a hash": {"sha": "d041a8f1d9fcbc9dbb5ad64b2f5f9ec4b2e70b5e"},
    "placeholders": {"password": "${DB_PASSWORD}", "secret_key": "********", "api_key": None},
    "a masked email": {"email": "xxxx@xxxxxxx.xxx"},
    "a product": {"name": "Widget", "type": "Phone"},
    "a host": {"address": "broker1.example.com:9092"},
    "the epoch": {"birthday": "1970-01-01"},
    "the future": {"birthday": "2999-01-01"},
    "dots": "eyJub3QiOiJhIHRva2VuIn0.abcd.efgh",
    "a number with zeros before it": "order 00491511234567 shipped, 0012 345 678",
    "a hash in small letters": "at483200000012345864e no08612345678ab",
    "a dni in small letters without a name": "54362315k",
    "a name in a line of logs": "level=info name=Worker thread=main email=",
    "short constants": {"firstName": "NA", "lastName": "TBD", "email": "anna"},
    "numbers of a version in a list": {"version": [2020, 1, 2], "dobs": [1, 2, 3]},
    "a street in code": "street=<none> address=broker1:9092 addr=0x7f",
    "a query without a person": "/api?street=on&page=2&birth=asc",
    "latencies": {"lat_ms": 41.01234, "long_tail": 28.97654},
    "a version of an upgrade": "upgraded agent from 81.2.69.142 to the next",
    "a section": "see section 81.2.69.142",
    "a version in an attribute": [{"key": "service.version", "value": {"stringValue": "81.2.69.142"}}],
    "a variable in code": "const password = process.env.DB_PASSWORD;",
    "statements without values": "SELECT first_name, phone FROM t WHERE id = ? AND last_name = ?",
    "columns": "CREATE TABLE t (last_name VARCHAR(80) NOT NULL, password CHAR(60))",
    "members of a class": 'private String firstName = null; @Email String email; name: "Worker"',
    "rows without telling columns": {"columns": ["sku", "title"], "rows": [["7", "Garden Table"]]},
    "a code word": {"password": "mismatch", "pwd": "bcrypt"},
    "where a password is": {"password": "vault:secret/db#pw", "pwd": "arn:aws:secretsmanager:eu:1:secret:x"},
    "a token of a page": {"nextPageToken": "e7aea53e515324f72f3bbece2bffae85"},
    "a token that is an id": {"token": "12345678-90ab-4def-8234-567890abcdef"},
    "names of secrets": {"secret_name": "db-creds-2024-prod1", "password_strength": "strong"},
    "numbers of a section": "see 12.3.4.5 and 1.3.6.1",
    "a version that is required": "foo==81.2.69.142, bar>=81.2.69.142",
    "a name of a thing": {"carrier_name": "Cargo Express", "birth_date": None, "email": "", "lastName": 5},
    "a date of an event in a sentence": "born 2024-01-15 10:00:00, container x",
    "a way of shipping": {"shipping": {"name": "Express Saver"}},
    "a kind of a product": {"type": "phone", "value": "Galaxy S24 Ultra", "id": 5551234567},
    "a table without telling cells": "<tr><td>Total:</td><td>Main Road 5</td></tr>",
    "a tag": "<address>10.0.0.1:9092</address><name>svc-a</name>",
}


@pytest.mark.parametrize("case", LOOKALIKES)
def test_it_is_not_found(case: str) -> None:
    assert found(LOOKALIKES[case]) == []


def test_paths_have_no_data() -> None:
    value = {
        "users": {"anna@firma.de": {"mail": "a@b.de"}, "47110815": {"mail": "c@d.de"}},
        "a.b": {"mail": "e@f.de"},
    }
    assert found(value) == [
        ("$.users.*", "email", "anna@firma.de"),
        ("$.users.*.mail", "email", "a@b.de"),
        ("$.users.*.mail", "email", "c@d.de"),
        ('$."a.b".mail', "email", "e@f.de"),
    ]


def test_lists_and_positions() -> None:
    geo = {
        "geometry": {"type": "Point", "coordinates": [13.404954, 52.520008]},
        "mails": ["a@b.de", "c@d.de"],
    }
    assert found(geo) == [
        ("$.geometry.coordinates[]", "coordinates", "13.404954"),
        ("$.geometry.coordinates[]", "coordinates", "52.520008"),
        ("$.mails[]", "email", "a@b.de"),
        ("$.mails[]", "email", "c@d.de"),
    ]


def test_confidence_follows_the_evidence() -> None:
    assert confidence({"email": "a@b.de"}) is Confidence.SURE  # form and name
    assert confidence({"x": "a@b.de"}) is Confidence.LIKELY  # form
    assert confidence({"firstName": "Anna"}) is Confidence.POSSIBLE  # name
    assert confidence({"cell": 4711234567}) is Confidence.POSSIBLE  # digits, and a name of several meanings
    assert confidence({"cell": "0151 12345678"}) is Confidence.LIKELY  # written as numbers of phones are
    assert (
        confidence({"x": "DE89370400440532013000"}) is Confidence.SURE
    )  # check digits and a form of its own


def test_escapes_of_json_are_masked_whole() -> None:
    data = rb'{"email":"anna\u0040firma.de","note":"\"a\" \ud83d\ude00 b@c.de"}'
    without = masked(examine(data))
    assert len(without) == len(data)
    assert json.loads(without) == {"email": "x" * 18, "note": '"a" 😀 xxxxxx'}


def test_numbers_stay_numbers() -> None:
    data = b'{"lat": -52.520008, "lon": 13.404954, "pesel": 44051401359}'
    assert masked(examine(data)) == b'{"lat": -10.000000, "lon": 10.000000, "pesel": 10000000000}'


@given(st.binary(max_size=400))
@settings(max_examples=150, deadline=None)
def test_binary_values_are_not_examined(data: bytes) -> None:
    content = examine(b"\0\1" + data)
    assert content.form in (Form.BINARY, Form.JSON)
    assert struct.pack(">q", 4111111111111111) not in data or not content.found


@given(st.text(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_text_is_masked_to_its_length(text: str) -> None:
    data = text.encode()
    without = masked(examine(data))
    assert len(without) == len(data)
    assert not examine(without).found


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)


VALUES = st.none() | st.text(max_size=30) | st.integers() | st.floats(allow_nan=False)


@given(nested(nested(VALUES) | VALUES))
@settings(max_examples=150, deadline=None)
def test_any_json_stays_json(value: Any) -> None:
    data = json.dumps(value).encode()
    content = examine(data)
    without = masked(content)
    assert len(without) == len(data)
    json.loads(without)


def test_hostile_values_are_bounded() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    assert not examine(deep).found
    assert examine(b"a@b.de " * MAX_CONTENT).form is Form.LARGE
    many = examine(b"a@b.de " * 3 * MAX_HITS)
    assert many.form is Form.CUT
    assert len(many.found) == MAX_HITS
    assert set(masked(many)) == {ord("x")}  # what was not examined does not stay


HOSTILE = {
    "begins of keys": "-----BEGIN PRIVATE KEY-----",
    "tokens": "eyJaaaaaaaa.eyJaaaa.",
    "digits": "1",
    "groups": "1 ",
    "at": "a@",
    "dots": "a.b@c.",
    "colons": "a:",
    "letters": "A",
    "url": "a://b:",
    "quotes": '"\\',
    "passwords": "password=",
    "statements": "INSERT INTO t (a) VALUES ('",
    "statements that set": "UPDATE t SET a = '",
    "rows of tables": "|a|",
    "members": "{A:",
    "names in quotes": "a: '",
    "mails": "From: a",
    "parts": 'Content-Disposition: form-data; name="a"\n',
    "streets": "Aa Rd 1, ",
    "living": "lives at Aa 1 ",
    "hyphens": "A-",
    "people": "customer Anna ",
    "titles": "Mr. Anna Muster ",
    "elements with values": '<a value="x" ',
    "attributes": 'name="a" b="c" ',
    "labels in a line": "a: b | ",
    "keywords": ':a "b" ',
    "entries of an account": ":86:166?00 ?31",
    "clients of an access log": "1.2.3.4 - - [",
    "names and an email address": "anna@example.com Anna Muster ",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_texts_take_time_of_their_length(case: str) -> None:
    """A text of twice the length takes few times as long: no pattern of quadratic effort ends this test."""
    text = HOSTILE[case] * (MAX_CONTENT // 2 // len(HOSTILE[case]))
    examine(text.encode())


def test_dates_that_are_lists() -> None:
    value = {"birthDate": [1980, 2, 29], "created": [2026, 1, 2]}
    assert [one[1:] for one in found(value)] == [
        ("birth_date", "1980"),
        ("birth_date", "2"),
        ("birth_date", "29"),
    ]
    assert found({"birthDate": ["1980-02-29"]}) == [("$.birthDate[]", "birth_date", "1980-02-29")]
    assert found({"birthDate": [1981, 2, 29]}) == []


def test_short_names_in_capitals_next_to_other_fields_of_a_person() -> None:
    assert len(found({"firstName": "BO", "lastName": "LIE"})) == 2
    assert found({"firstName": "BO"}) == []


def test_latin_1() -> None:
    content = examine("Grüße an anna@example.com".encode("latin-1"))
    assert [one.hit.kind for one in content.found] == ["email"]
    assert masked(content) == "Grüße an xxxx@xxxxxxx.xxx".replace("@", "x").replace(".", "x").encode(
        "latin-1"
    )
    assert examine(bytes([0xE9, 0xE8] * 8)).form is Form.BINARY
    assert examine(b"anna@example.com \x9d\xe9").form is Form.BINARY
