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
    ":86:166?00TRANSFER?20EREF+7788?31DE89370400440532013000?32ANNA NOVAK": ["iban", NAME],
    "ST*834*1~NM1*IL*1*DOE*JANE****34*536704351~": [NAME, NAME, "national_id"],
    "1.SMITH/JOHN MR  2.SMITH/ANNA MRS": [NAME, NAME],
    '<P><name><family value="Novak"/><given value="Anna"/></name><birthDate value="1980-02-03"/></P>': [
        NAME, NAME, BIRTH,
    ],
    '<s:Attribute Name="givenName" Format="x"><s:AttributeValue>Anna</s:AttributeValue></s:Attribute>': [
        NAME,
    ],
    '<doc><field name="lastname_s">Novak</field></doc>': [NAME],
    '<form><input name="last_name" type="text" value="Novak"><input value="Anna" name="first_name"></form>': [
        NAME, NAME,
    ],
    '{:first-name "Anna" :last-name "Novak"}': [NAME, NAME],
    'array(2) { ["nom"]=> string(5) "Novak" ["prenom"]=> string(4) "Anna" }': [NAME, NAME],
    '"password"=>"S3cr3t!x9"': ["credential"],
    '{"00100010":{"vr":"PN","Value":[{"Alphabetic":"Novak^Anna"}]},"00100030":{"Value":["19800203"]}}': [
        NAME, BIRTH,
    ],
    '{"answers":[{"text":"Anna Novak","field":{"id":"a1","ref":"full_name"}}]}': [NAME],
    '{"answers":[{"date":"1980-02-03","field":{"ref":"birth_date"}}]}': [BIRTH],
    '{"content":"Novak","field":"last_name"}': [NAME],
    '{"ref":"0d5e7e2a","question":"Last name?","answer":"Novak"}': [NAME],
    "Shipped | Recipient: Anna Novak | Address: Main Road 5, 10115 Berlin | Phone: +49 30 901820": [
        NAME, ADDRESS, PHONE,
    ],
    "Patient: Anna Novak\nDate of birth: 1980-02-03\n": [NAME, BIRTH],
    "山田 太郎 <t.yamada@example.com>": [NAME, EMAIL],
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
    '{"tarjeta":{"número":"4111111111111111"}}': ["card"],
    '{"naissance":{"fecha":"1980-02-03"}}': [BIRTH],
    '{"wlascicielRachunku":"Anna Novak"}': [NAME],
    '{"titular_de_la_tarjeta":"Anna Novak"}': [NAME],
    '{"kontohavare":"Anna Novak"}': [NAME],
    '{"creditCardNumber":"4111111111111111","owner":"Anna Novak"}': ["card", NAME],
    '{"counterparty_name":"Anna Novak","iban":"DE89370400440532013000"}': [NAME, "iban"],
    '{"contacts":[{"profile":{"name":"Anna Novak"},"wa_id":"4915112345678"}]}': [NAME, PHONE],
    '{"member":"Anna Novak, +49 30 901820"}': [NAME, PHONE],
    '{"notify":{"channel":"SMS","to":"004930901820"}}': [PHONE],
    "paid number=4111111111111111 exp=03/29": ["card"],
    "10.1.2.3 - - [30/Nov/2026:13:55:36 +0000] GET /": ["ip_address"],
    "login of anna rejected: too many attempts (client 10.1.2.3)": ["ip_address"],
    "CEF:0|A|WAF|7.2|69|Brute force|7|src=10.1.2.3 spt=7024 dst=10.9.9.9": ["ip_address"],
    "Failed password for invalid user anna from 10.1.2.3 port 22 ssh2": ["ip_address"],
    '{"userDisplayName":"Anna Novak","userPrincipalName":"anna@example.com","appId":"0d5e7e2a"}': [
        NAME,
        EMAIL,
    ],
    '{"dest":{"CPF":"15598273519","xNome":"Anna Novak"}}': ["national_id", NAME],
    "aws_secret_access_key wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz": ["credential"],
    "ALTER USER a IDENTIFIED BY 'S3cr3t!x9'": ["credential"],
    "mysql -u root -pT1ger!2026 orders": ["credential"],
    '{"homePostalAddress":"Main Road 5$10115 Berlin"}': [ADDRESS],
    '{"insurance_number":"8136140287"}': ["national_id"],
}
# Names and addresses in sentences.
SENTENCES = {
    "Customer Anna Novak called, card 4111 1111 1111 1111.": [NAME, "card"],
    "cliente Anna Novak (tel. +49 30 901820)": [NAME, PHONE],
    "Mr. John Whitaker asked for a refund.": [NAME],
    "La señora María López no contesta.": [NAME],
    "Dear Ms. Novak, your parcel is here.": [NAME],
    "Sehr geehrte Frau Dr. Novak, guten Tag.": [NAME],
    "Salve, mi chiamo Serena D'Angelo, grazie": [NAME],
    "my name is Anna Novak and I moved": [NAME],
    "1001,Anna Novak,anna.novak@example.com,x": [NAME, EMAIL],
    "JÖRG AMMANN joerg.ammann@example.com": [NAME, EMAIL],
    '{"embossed_text":"A Novak","who":"Anna Novak","mail":"anovak@example.com"}': [NAME, NAME, EMAIL],
    "He lives at 22 Baker Row since May": [ADDRESS],
    "wohnhaft Am Ring 7 seit Mai": [ADDRESS],
    "My new address is 67 Gandhi Marg, 110012 New Delhi.": [ADDRESS],
    "o novo endereço é Rua Dom Pedro II, 1859": [ADDRESS],
    "near Beco do Forno, 144": [ADDRESS],
    "deliver to 14 Elm Grove, London SW19 4HE before noon": [ADDRESS],
    "CV\n\nRosenvænget 159, st. th, 8001 Aarhus\n": [ADDRESS],
    "zu Gartenstr. 32, 04379 Leipzig gefahren": [ADDRESS],
    "Rückruf unter 0221/998877 bitte": [PHONE],
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
    '{"resourceDisplayName":"Microsoft Graph","rule_name":"Brute Force","birth":"1980"}',
    '{"oauth":{"client_name":"Partner Sync","redirect_uris":["https://x.example"]},"born":""}',
    '{"carrier":{"name":"Express Cargo","phone":"+49"}}',
    '{"date":"2026-05-01","name":"Birthday Sale"}',
    "see Customer Data Platform and Patient Portal",
    "Version 3 of Main Street Theme 2024 is out, Chapter 5 Road to 5000 Users",
    "Train ICE 595 to München Hbf 12:03, Gleis 7, Platz 45, Wagen 12",
    "INFO Partition orders 12, 50667 Records written to Topic 5",
    "no-reply@example.com, Support+17@example.com, ventas@example.com",
    '{"server":{"ip":"84.17.3.9"},"node_ip":"84.17.3.8","gateway":"84.17.3.1","clusterIP":"10.96.0.1"}',
    "advertised.listeners=PLAINTEXT://84.17.3.9:9092",
    '{"dependencies":{"netty":"84.17.3.9"},"app":"84.17.3.8","note":"rev. 84.17.3.7"}',
    "rollback target 84.11.90.77",
    '{"creditorAddress":{"streetName":"boulevard Colette Bourgeois","townName":"Meyer"}}',
    '{"terminal":"T1","card_acceptor_name":"SUPERMARKT WIEN AT"}',
    "connection from 10.1.2.3 to 10.1.2.4, dst=10.1.2.5, client library 10.1.2.3",
    "To: sip:x.example;phone-context=a;tag=0302560947",
    '{"loyaltyCard":"4111111111111111","gift_card":"4111111111111111"}',
    '{"passwordLastSet":"2026-11-30T10:11:12Z"}',
    '{"login.password":"Passwort eingeben"}',
    "post({ password: password.value })",
    "spring.mail.password=@vault.mail@",
    "WHERE birth_date > '1990-01-01'",
    '<input name="password"/><label>Phone</label>',
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


@pytest.mark.parametrize(("text", "kinds"), {**SHAPES, **FIELDS, **SENTENCES}.items())
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
