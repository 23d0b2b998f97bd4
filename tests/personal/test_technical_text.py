"""Texts of programs, machines and documents that use the words of personal data, and have none."""

import pytest

from kdissect.personal.contents import examine, masked
from kdissect.personal.hits import Confidence

for module in ("phonenumbers", "stdnum"):
    pytest.importorskip(module, reason="needs the extra personal")

NAMES_OF_THINGS = (
    '{"hostname": {"first": "Alpha", "last": "Omega"}}',
    '{"column_names": {"first": "Alpha", "last": "Omega"}}',
    '{"topicName": {"first": "A", "last": "Orders"}}',
    '{"tableName": {"full": "Public Orders"}}',
    '{"filename": {"full": "Report Final"}}',
    '{"className": {"first": "Alpha", "last": "Omega"}}',
    '{"fontName": {"family": "Courier New"}}',
    '{"name": {"family": "Courier New", "first": "Regular"}}',
    '{"name": {"family": "Courier New", "style": "Bold"}}',
    '{"client_name": "OrderService", "op": "connect"}',
    "client_name=Kafka connected=true",
    '{"ownerName": "ReplicaSet", "kind": "Pod"}',
    '{"fname": "README.md", "line": 3}',
    "fname=Makefile line=12 level=info",
    "fname=Setup.exe",
    "lname=Total",
    "fullname: None",
    "class: Foo, fullname: Foo.Bar.Baz",
    '{"clientName": "None"}',
    "user_name = None",
    '{"key": "first_name", "value": "String"}',
    '{"fio": "Mode Random", "iops": 3000}',
    '{"familia": "Intel", "model": "X"}',
    '{"cust": {"name": "Acme Gmbh"}}',
    '{"candidate": {"name": "Leader Two"}}',
    '{"recipient": {"name": "Dead Letter"}}',
    "Contact name: Support",
    "Legal name: Apache",
    '{"contact": {"name": "Support Team"}}',
)
ADDRESSES_OF_MACHINES = (
    "addr: 12 bytes",
    "address: A string or integer, the IP address. Either IPv4 or IPv6",
    '{"p99_lat": 1.2345, "p99_long": 1.2345}',
    "PCI address: slot 2",
    "Address Space: 4 GB",
    "base address: 3 pages",
    "return address: in frame 3",
    "Current address: 0x7ffe 12",
    "current address: block 12 of 30",
    "Street View: enabled 3",
    "Address: Line 12",
    '{"cim": "version 2 schema"}',
    '{"memAddr": {"line": "12 bytes"}}',
    '{"address": "rack 12 slot 3"}',
    "pub const IFA_ADDRESS: c_ushort = 1;",
    "pub const IFA_ADDRESS: SomeType = 1;",
)
VERSIONS_AND_FILES = (
    "version 12.345.678-5 installed",
    "firmware 1.000.005-K",
    "build 21.100.300-5 ok",
    "said 1712105009087",
    " Birth: 2024-01-15 10:00:00",
    '{"born": "2024-01-15T10:00:00Z", "container": "abc"}',
    '{"created": {"birth": 19000}}',
)
CODE_ABOUT_SECRETS = (
    "self.refresh_token: Optional[str]",
    "api_keys: _API_KEYS_DATA",
    "pwd: None, **kwargs",
    "com.sun.management.jmxremote.password.file=filepath",
    "password = fallback_getpass(prompt, stream)",
    "fn password(api_key: i16) -> u32",
    "password: Column,",
    "pub pwd: *mut c_char,",
    "my $passwd = $ftp->secret;",
    "token = header.api_key",
    "let is_password = match kind {",
    '{"jwt_secret_ref": "vault"}',
    "connect(password=password, access_token=access_token)",
    "password=getPassword()",
    'if line == "-----BEGIN PRIVATE KEY-----":',
)


ALL = (*NAMES_OF_THINGS, *ADDRESSES_OF_MACHINES, *VERSIONS_AND_FILES, *CODE_ABOUT_SECRETS)


@pytest.mark.parametrize("text", ALL)
def test_it_has_no_personal_data(text: str) -> None:
    assert not examine(text.encode()).found


def left(text: str) -> str:
    """Return a text without what is found in it. Nothing is found in it again."""
    without = masked(examine(text.encode()))
    assert len(without) == len(text.encode())
    assert not examine(without).found
    return without.decode()


PEOPLE = (
    ("name", '{"fname": "Anna", "lname": "Muster"}', 2),
    ("name", "fname=Makefile line=12 by=anna@example.com", 0),
    ("name", "id=7 fname=Anna lname=Muster", 2),
    ("name", "fname=Anna email=anna@example.com birthday=1980-02-03", 1),
    ("name", '{"client_name": "Anna Muster", "email": null, "birthday": "1980-02-03"}', 1),
    ("name", '{"name": {"family": "Muster", "given": ["Anna"]}}', 2),
    ("name", '{"customer_name": {"first": "Anna", "last": "Muster"}}', 2),
    ("address", "street: Main Road 5", 1),
    ("address", "BEGIN:VCARD\nADR:;;Flat 3\\, 22 Albion Terrace\nEND:VCARD", 1),
    ("address", "adresse: 5 rue des Fleurs", 1),
    ("address", "address: MAIN STREET 5", 1),
    ("national_id", "rut 12.345.678-5", 1),
    ("birth_date", "born: 1980-02-03", 1),
)


@pytest.mark.parametrize(("kind", "text", "count"), PEOPLE)
def test_what_is_like_it_is_found(kind: str, text: str, count: int) -> None:
    assert [str(one.hit.kind) for one in examine(text.encode()).found].count(kind) == count
    left(text)


@pytest.mark.parametrize("text", ['{"idNumber": "8001015009087"}', "id number 1712105009087"])
def test_a_number_under_words_of_many_countries_is_likely(text: str) -> None:
    (one,) = examine(text.encode()).found
    assert one.hit.confidence is Confidence.LIKELY


HIDDEN_BY_A_HIT = (
    "last name: Bearer abcdefghijklmnop",
    'PCI address: slot 2 Location: Europe 12.345, 13.456 {"position":[12.3456,45.6789]} '
    "access_token=access_token",
    "address: Main Road 5, anna@example.com",
    '{"address": "Main Road 5, anna@example.com"}',
)


@pytest.mark.parametrize("text", HIDDEN_BY_A_HIT)
def test_redaction_leaves_no_hit_in_the_text_around_another(text: str) -> None:
    assert "Main" not in left(text)


BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"


def test_a_private_key_without_its_end_is_masked() -> None:
    both = f"{BEGIN}\nMIIabc\n{BEGIN}\nMIIdef\n{END}"
    assert set(left(both)) == {"x"}
    assert left(f"{BEGIN}\nMIIabc\nMIIdef==\n; next") == "x" * 44 + "; next"
    assert left(f"{BEGIN}\\nMIIabc\\nMIIdef\\n") == "x" * 45
    assert left(f"{BEGIN}%0AMIIabc%0AMIIdef&user=7") == "x" * 45 + "&user=7"
    assert left(f"{BEGIN}\nMIIabc\n{BEGIN}\nMIIdef") == "x" * 69


SECRETS_WITH_FORMS = ('{"password": "Bearer abcdefghijklmnop"}', '{"password": "http://u:hunter22@h/x"}')


@pytest.mark.parametrize("text", SECRETS_WITH_FORMS)
def test_a_field_of_a_password_is_masked_whole(text: str) -> None:
    start = text.index(': "') + 3
    assert left(text) == text[:start] + "x" * (len(text) - start - 2) + '"}'
