"""Shapes of texts and JSON in which systems write people, and names of their fields."""

from __future__ import annotations

import pytest

pytest.importorskip("phonenumbers", reason="needs the extra personal")
pytest.importorskip("stdnum", reason="needs the extra personal")

from kdissect.personal.check_digits import OWN_CHECKS
from kdissect.personal.contents import examine, masked

NAME, EMAIL, PHONE, ADDRESS, BIRTH = "name", "email", "phone", "address", "birth_date"
SHAPES = {
    '{"attrs":[{"k":"first_name","v":"Anna"},{"k":"last_name","v":"Novak"}]}': [NAME, NAME],
    '{"changes":[{"field":"lastName","from":"Novak","to":"Svoboda"}]}': [NAME, NAME],
    '{"columns":[{"name":"street"},{"name":"dob"}],"rows":[["Main Road 5","1980-02-03"]]}': [ADDRESS, BIRTH],
    '{"values":[["First name","Date of birth"],["Anna","1980-02-03"]]}': [NAME, BIRTH],
    '{"fields":{"lastName":{"stringValue":"Novak"},"street":{"stringValue":"Main Road 5"}}}': [NAME, ADDRESS],
    '{"shipTo":{"name":"Anna Novak","line1":"Main Road 5","postcode":"10115"}}': [NAME, ADDRESS],
    '{"phone":{"cc":"+49","nsn":"30 901820"}}': [PHONE],
    "Customer { Id = 5, FirstName = Anna, LastName = Novak, Street = Main Road 5 }": [NAME, NAME, ADDRESS],
    "array (\n  'first_name' => 'Anna',\n  'street' => 'Main Road 5',\n)": [NAME, ADDRESS],
    '{:first_name=>"Anna", "street"=>"Main Road 5"}': [NAME, ADDRESS],
    "Array\n(\n    [first_name] => Anna\n    [street] => Main Road 5\n)": [NAME, ADDRESS],
    'a:2:{s:10:"first_name";s:4:"Anna";s:6:"street";s:11:"Main Road 5";}': [NAME, ADDRESS],
    "<dict><key>lastName</key><string>Novak</string></dict>": [NAME],
    "[customer]\nfirst_name=Anna\nstreet=Main Road 5\n": [NAME, ADDRESS],
    "first_name | Anna\nlast_name  | Novak\n": [NAME, NAME],
    "| Last name | DOB |\n|---|---|\n| Novak | 1980-02-03 |\n": [NAME, BIRTH],
    " last_name | dob\n-----------+------------\n Novak     | 1980-02-03\n": [NAME, BIRTH],
    "COPY c (first_name, dob) FROM stdin;\nAnna\t1980-02-03\n\\.": [NAME, BIRTH],
    "UNB+UNOC:3'NAD+BY+++Anna Novak+Main Road 5+Berlin'COM+4930901820:TE'DTM+329:19800203:102'": [
        NAME, ADDRESS, PHONE, BIRTH,
    ],
    "ISA*00*~NM1*IL*1*DOE*JOHN****MI*123~N3*5 MAIN STREET~DMG*D8*19800203*F~PER*IC**TE*6175551212~": [
        NAME, NAME, ADDRESS, BIRTH, PHONE,
    ],
    ":20:REF\n:50K:/123\nANNA NOVAK\nMAIN ROAD 5\n10115 BERLIN\n": [NAME, ADDRESS],
}  # fmt: skip
FIELDS = {
    '{"dirPostal":"Calle Mayor 5"}': [ADDRESS],
    '{"CUST_FRST_NM":"Anna","BRTH_DT":"1980-02-03","PH_NBR":"6175551212"}': [NAME, BIRTH, PHONE],
    '{"latitud":52.52001,"longitud":13.40495}': ["coordinates", "coordinates"],
    '{"緯度":52.52001,"経度":13.40495}': ["coordinates", "coordinates"],
    '{"dob":"Sun Feb 03 1980 00:00:00 GMT+0100"}': [BIRTH],
    '{"dob":"3-FEB-80"}': [BIRTH],
    '{"生年月日":"昭和55年2月3日"}': [BIRTH],
    '{"iban":"DE89.3704.0044.0532.0130.00"}': ["iban"],
    '{"note":"geb. 03.02.1980, Tel. 030 901820"}': [BIRTH, PHONE],
    "mailto:anna%40example.com": [EMAIL],
    "user-anna@example.com-7": [EMAIL],
    "wachtwoord: S3cr3t!x9": ["credential"],
    "curl -u anna:S3cr3tPw https://host/": ["credential"],
    '{"foernamn":"Oskar","foedelsedatum":"1963-11-19"}': [NAME, BIRTH],
    '{"driver":{"name":"Anna Novak","plate":"KS 1"}}': [NAME],
    '{"to":"48224036217","from":"ACME","text":"Hi Anna, your parcel arrives."}': [PHONE, NAME],
    "calvobe/49.167.61.214:54484 Learn": ["ip_address"],
    '{"numerocpf":"15598273519"}': ["national_id"],
}
NOTHING = (
    '{"trip":{"name":"Holiday","from":"Berlin","to":"Paris"}}',
    "anna@2x.png-7",
    "refresh_token=False)",
    '{"company":{"name":"Example Ltd","taxNo":"DK356958"}}',
    "[first] => a\n[count] => 5",
    '[["a","b"],["Anna","Novak"]]',
    "make test -u root:wheel",
    '{"locale":"de","messages":{"firstName":"Vorname","lastName":"Nachname"}}',
    '{"senderName":"ACME Shop","subject":"News"}',
    '[{"op":"add","path":"/labels/password","value":"rotated"}]',
    "Hello World!",
    "Dear Customer, hi Team, hello there!",
    '{"messageId":"<0db8188d588f4708@mx1.corp.example>"}',
    "Message-ID: <0db8188d588f4708@mx1.corp.example>",
)
IDS = {
    "sg.nric": ("S1234567D", "S1234567A"),
    "hk.id": ("A123456(3)", "A123456(4)"),
    "tw.id": ("A123456789", "A123456788"),
    "uy.ci": ("1.234.567-2", "1.234.567-3"),
    "ir.id": ("0013542419", "0013542418"),
    "ru.snils": ("112-233-445 95", "112-233-445 96"),
    "de.rvnr": ("65 170839 J 003", "65 170839 J 004"),
    "kz.iin": ("850101300055", "850101300050"),
    "luhn": ("784-1979-1234567-1", "784-1979-1234567-2"),
}


def _kinds(text: str) -> list[str]:
    return [str(one.hit.kind) for one in examine(text.encode()).found]


@pytest.mark.parametrize(("text", "kinds"), {**SHAPES, **FIELDS}.items())
def test_fields_are_found_and_masked(text: str, kinds: list[str]) -> None:
    assert sorted(_kinds(text)) == sorted(kinds)
    assert _kinds(masked(examine(text.encode())).decode()) == []


@pytest.mark.parametrize("text", NOTHING)
def test_what_looks_similar_is_nothing(text: str) -> None:
    assert _kinds(text) == []


def test_proxies_after_the_client_do_not_count() -> None:
    (found,) = examine(b'{"X-Forwarded-For":"84.17.3.9, 10.0.0.7, 10.0.3.1"}').found
    assert found.leaf.text[found.hit.start : found.hit.end] == "84.17.3.9"


@pytest.mark.parametrize("name", IDS)
def test_check_digits(name: str) -> None:
    right, wrong = IDS[name]
    assert OWN_CHECKS[name](right)
    assert not OWN_CHECKS[name](wrong)
