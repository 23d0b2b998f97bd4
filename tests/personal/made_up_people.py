"""Made-up people of eight countries: their values, and the names that systems of the country have for fields."""

import random
import string
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

Dice = random.Random


class Country(NamedTuple):
    """How a country writes what a person has. Patterns: `#` is a digit, other characters are themselves."""

    given: str
    family: str
    streets: str
    phones: tuple[str, ...]
    """Mobile numbers with the country code."""
    local_phones: tuple[str, ...]
    dates: tuple[str, ...]
    bban: str
    """Begins with the country of the IBAN. `@` is a capital letter."""
    national: dict[str, Callable[[Dice, date], str]]
    """By name of a field."""
    words: dict[str, str]
    """Names of fields in the language of the country, by slot."""


ENGLISH = {
    "given": "firstName given_name forename FIRST_NAME first_nm",
    "family": "lastName surname family_name LAST_NAME familyName",
    "full": "fullName customer_name accountHolder cardholderName beneficiary_name contact_name",
    "email": "email emailAddress e_mail EMAIL contact_email userEmail",
    "phone": "phone mobile phoneNumber mobile_no contact_number MSISDN telephone cellPhone",
    "birth": "dateOfBirth dob birth_date BIRTH_DT birthday",
    "street": "street addressLine1 address_line_1 ADDR1 streetAddress shipping_address homeAddress",
    "iban": "iban accountIban bank_account IBAN_NO creditorIban",
    "card": "cardNumber card_no pan creditCardNumber CARD_NUM",
    "ip": "clientIp ip_address remote_addr source_ip IP_ADDR userIp",
    "password": "password passwd api_key clientSecret access_token secretKey",
}


def fill(dice: Dice, pattern: str) -> str:
    text = "".join(dice.choice(string.digits) if one == "#" else one for one in pattern)
    return "".join(dice.choice(string.ascii_uppercase) if one == "@" else one for one in text)


def iban(dice: Dice, bban: str) -> str:
    country, account = bban[:2], fill(dice, bban[2:])
    digits = "".join(str(int(one, 36)) for one in account + country + "00")
    return f"{country}{98 - int(digits) % 97:02}{account}"


def luhn(body: str) -> str:
    total = sum(sum(divmod(int(one) * (2 - at % 2), 10)) for at, one in enumerate(reversed(body)))
    return body + str(-total % 10)


def card(dice: Dice) -> str:
    return luhn(
        fill(dice, dice.choice(("4##############", "51#############", "5555###########", "37############")))
    )


def weighed(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(one) * weight for one, weight in zip(digits, weights, strict=False))


def hetu(dice: Dice, born: date) -> str:
    number = f"{dice.randint(2, 899):03}"
    mark = dice.choice("-YX") if born.year < 2000 else dice.choice("AB")
    digits = born.strftime("%d%m%y")
    return digits + mark + number + "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(digits + number) % 31]


def pps(dice: Dice, _born: date) -> str:
    digits, second = fill(dice, "#######"), dice.choice(("", "A", "B"))
    total = weighed(digits, (8, 7, 6, 5, 4, 3, 2)) + (9 * " ABCDEFGHI".index(second) if second else 0)
    return digits + "WABCDEFGHIJKLMNOPQRSTUV"[total % 23] + second


def aadhaar(dice: Dice, _born: date) -> str:
    """Verhoeff: the dihedral group of ten, and the powers of a permutation."""
    multiply = [
        [
            (i + j) % 5
            if i < 5 > j
            else (i + j) % 5 + 5
            if i < 5
            else (i - j) % 5 + 5
            if j < 5
            else (i - j) % 5
            for j in range(10)
        ]
        for i in range(10)
    ]
    permute = [list(range(10))]
    for _ in range(7):
        permute.append([permute[-1][one] for one in (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)])
    body = dice.choice("23456789") + fill(dice, "##########")
    check = 0
    for at, one in enumerate(reversed(body), 1):
        check = multiply[check][permute[at % 8][int(one)]]
    digits = body + str(multiply[check].index(0))
    return dice.choice((digits, f"{digits[:4]} {digits[4:8]} {digits[8:]}"))


def income_tax_number(dice: Dice, _born: date) -> str:
    return fill(dice, "@@@P@####@")


def my_number(dice: Dice, _born: date) -> str:
    digits = fill(dice, "###########")
    left = weighed(digits[::-1], (2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6)) % 11
    return digits + str(0 if left <= 1 else 11 - left)


def rrn(dice: Dice, born: date) -> str:
    digits = born.strftime("%y%m%d") + dice.choice("12" if born.year < 2000 else "34") + fill(dice, "0####")
    check = (11 - weighed(digits, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10
    return dice.choice((f"{digits[:6]}-{digits[6:]}{check}", f"{digits}{check}"))


def south_african(dice: Dice, born: date) -> str:
    return luhn(born.strftime("%y%m%d") + fill(dice, "####") + dice.choice("01") + "8")


def cnp(dice: Dice, born: date) -> str:
    digits = (
        dice.choice("12" if born.year < 2000 else "56")
        + born.strftime("%y%m%d")
        + f"{dice.randint(1, 46):02}"
    )
    digits += f"{dice.randint(1, 999):03}"
    check = weighed(digits, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return digits + str(1 if check == 10 else check)


def taj(dice: Dice, _born: date) -> str:
    digits = fill(dice, "########")
    digits += str(weighed(digits, (3, 7, 3, 7, 3, 7, 3, 7)) % 10)
    return dice.choice((digits, f"{digits[:3]} {digits[3:6]} {digits[6:]}"))


def hungarian_tax(dice: Dice, born: date) -> str:
    while True:
        digits = f"8{(born - date(1867, 1, 1)).days:05}{dice.randint(0, 999):03}"
        if (check := weighed(digits, (1, 2, 3, 4, 5, 6, 7, 8, 9)) % 11) < 10:
            return digits + str(check)


COUNTRIES = {
    "FI": Country(
        "Aino Väinö Eero Sanna Jukka Päivi", "Virtanen Korhonen Mäkinen Nieminen Hämäläinen",
        "Mannerheimintie 12 A 4|Hämeenkatu 7|Kauppakatu 21 B 13|Itäinen Rantakatu 5",
        ("+358 40 ### ####", "+35850#######"), ("040 ### ####", "050-#######"), ("%d.%m.%Y", "%Y-%m-%d"),
        "FI##############", {"hetu": hetu, "henkilotunnus": hetu, "personal_identity_code": hetu},
        {"given": "etunimi etunimet", "family": "sukunimi", "full": "nimi koko_nimi asiakkaan_nimi",
         "email": "sahkoposti sähköpostiosoite", "phone": "puhelin puhelinnumero matkapuhelin",
         "birth": "syntymaaika syntymäpäivä", "street": "katuosoite osoite lahiosoite",
         "iban": "tilinumero iban", "card": "korttinumero luottokortti", "ip": "ip_osoite", "password": "salasana"},
    ),
    "IE": Country(
        "Aoife Seán Niamh Ciarán Siobhán Declan", "O'Brien Murphy Ó'Sé Kelly McCarthy Byrne",
        "14 Patrick Street|Flat 3, 22 Harcourt Road|The Old Mill, Kinsale Road|7 Dame Court",
        ("+353 87 ### ####", "+35386#######", "+353 (0)85 ### ####"), ("087 ### ####", "(086) #######"),
        ("%d/%m/%Y", "%Y-%m-%d"), "IE@@@@##############", {"ppsn": pps, "pps_number": pps, "PPSNo": pps}, {},
    ),
    "IN": Country(
        "Aarav Priya Sanjay Lakshmi Venkatesh Anjali", "Sharma Iyer Patel Reddy Chatterjee Singh",
        "Flat No. 402, Shanti Apartments, MG Road|12/3, 4th Cross, Indiranagar|H.No 8-2-293, Banjara Hills|B-14 Sector 62",
        ("+91 9#### #####", "+918#########", "+91-98########"), ("98########", "09#########"),
        ("%d/%m/%Y", "%d-%m-%Y", "%d-%b-%Y"), "AE###################",
        {"aadhaar": aadhaar, "aadhaarNumber": aadhaar, "AADHAAR_NO": aadhaar, "pan_number": income_tax_number}, {},
    ),
    "JP": Country(
        "太郎 花子 健一 美咲 Takashi Yuko", "佐藤 鈴木 高橋 田中 Yamamoto Ito",
        "東京都千代田区丸の内1-9-1|大阪市北区梅田3丁目1番3号|1-2-3 Nishi-Shinjuku, Shinjuku-ku|横浜市中区本町6-50-10",
        ("+81 90-3###-####", "+81804#######"), ("090-3###-####", "0804#######"), ("%Y/%m/%d", "%Y-%m-%d", "%Y年%m月%d日"),
        "GB@@@@##############", {"my_number": my_number, "個人番号": my_number, "kojin_bango": my_number},
        {"given": "名 mei", "family": "姓 sei", "full": "氏名 shimei 名前", "email": "メールアドレス",
         "phone": "電話番号 denwa_bango 携帯電話", "birth": "生年月日 seinengappi", "street": "住所 jusho",
         "iban": "iban", "card": "カード番号", "ip": "IPアドレス", "password": "パスワード"},
    ),
    "KR": Country(
        "민준 서연 지훈 하은 Minjun Jiwoo", "김 이 박 최 Kim Park",
        "서울특별시 강남구 테헤란로 152|부산광역시 해운대구 센텀중앙로 79|152 Teheran-ro, Gangnam-gu|경기도 성남시 분당구 불정로 6",
        ("+82 10-3###-####", "+82104#######"), ("010-2###-####", "0104#######"), ("%Y-%m-%d", "%Y%m%d", "%Y.%m.%d"),
        "TR######################", {"rrn": rrn, "주민등록번호": rrn, "jumin_no": rrn},
        {"given": "이름", "family": "성", "full": "성명 고객명", "email": "이메일", "phone": "전화번호 휴대폰번호 hp_no",
         "birth": "생년월일", "street": "주소", "iban": "iban", "card": "카드번호", "ip": "ip주소", "password": "비밀번호"},
    ),
    "ZA": Country(
        "Thabo Nomvula Pieter Zanele Sipho Annelie", "Nkosi Merwe Dlamini Botha Naidoo",
        "45 Long Street|12 Jan Smuts Avenue|Posbus 1234|8 Kerkstraat",
        ("+27 82 ### ####", "+2783#######"), ("082 ### ####", "083#######"), ("%Y-%m-%d", "%Y/%m/%d"),
        "MU@@@@################000@@@",
        {"idNumber": south_african, "sa_id_number": south_african, "id_nommer": south_african},
        {"given": "voornaam noemnaam", "family": "van familienaam", "full": "volle_naam", "email": "epos e_posadres",
         "phone": "selfoon selfoonnommer", "birth": "geboortedatum", "street": "straatadres adres",
         "iban": "iban", "card": "kaartnommer", "ip": "ip_adres", "password": "wagwoord"},
    ),
    "RO": Country(
        "Andrei Ioana Ștefan Mihaela Răzvan Elena", "Popescu Ionescu Țurcanu Dumitrescu Munteanu",
        "Strada Mihai Eminescu nr. 14, bl. B2, ap. 7|Bd. Unirii 22|Calea Victoriei 155|Str. Lungă 8",
        ("+40 72# ### ###", "+4074#######"), ("072# ### ###", "0745######"), ("%d.%m.%Y", "%Y-%m-%d"),
        "RO@@@@################", {"cnp": cnp, "cod_numeric_personal": cnp, "CNP": cnp},
        {"given": "prenume", "family": "nume nume_familie", "full": "nume_complet titular",
         "email": "email adresa_email", "phone": "telefon nr_telefon telefon_mobil", "birth": "data_nasterii dataNașterii",
         "street": "adresa strada domiciliu", "iban": "cont_iban cont", "card": "numar_card", "ip": "adresa_ip",
         "password": "parola"},
    ),
    "HU": Country(
        "Gábor Zsófia István Eszter László Katalin", "Nagy Kovács Tóth Szabó Horváth",
        "Kossuth Lajos utca 12. 2/5|Petőfi tér 3|Rákóczi út 44.|Fő utca 8/B",
        ("+36 20 ### ####", "+3630#######"), ("06 20 ### ####", "0630#######", "06-70/###-####"),
        ("%Y.%m.%d.", "%Y-%m-%d", "%Y. %m. %d."), "HU########################",
        {"taj": taj, "taj_szam": taj, "TAJ_szám": taj, "adoazonosito_jel": hungarian_tax},
        {"given": "keresztnev utónév", "family": "vezeteknev családnév", "full": "nev teljes_név ügyfél_neve",
         "email": "email_cim e_mail_cím", "phone": "telefon telefonszam mobil", "birth": "szuletesi_datum születésiIdő",
         "street": "lakcim utca cím", "iban": "bankszamlaszam iban", "card": "kartyaszam", "ip": "ip_cim",
         "password": "jelszo jelszó"},
    ),
}  # fmt: skip


class Field(NamedTuple):
    """A value with the name of its field, and what it is: a kind of hit, or nothing."""

    slot: str
    name: str
    value: str
    kind: str


KINDS = {"given": "name", "family": "name", "full": "name", "birth": "birth_date", "street": "address",
         "national": "national_id", "ip": "ip_address", "password": "credential"}  # fmt: skip


def public_address(dice: Dice) -> str:
    if dice.random() < 0.15:
        return f"2a02:{dice.randrange(16**4):x}:{dice.randrange(16**4):x}::{dice.randrange(1, 16**4):x}"
    return f"{dice.choice((5, 41, 77, 91, 109, 122, 133, 185, 211))}." + ".".join(
        str(dice.randint(1, 254)) for _ in range(3)
    )


def secret(dice: Dice) -> str:
    return "".join(
        dice.choice(string.ascii_letters + string.digits + "!-_") for _ in range(dice.randint(12, 32))
    )


class Person:
    """A person. `field` names and writes what the person has, in English or in the language of the country."""

    def __init__(self, dice: Dice, country: Country, local: bool) -> None:
        self.dice, self.country, self.local = dice, country, local
        self.born = date(1940, 1, 1) + timedelta(days=dice.randrange(24_000))
        self.given = dice.choice(country.given.split())
        self.family = dice.choice(country.family.split())
        ascii_name = f"{self.given}{self.family}".encode("ascii", "ignore").decode().lower().replace("'", "")
        self.email = f"{ascii_name or 'user'}{dice.randint(1, 9999)}@{dice.choice(('mail.example', 'posti.example', 'corp.co', 'inbox.net'))}"

    def name_of(self, slot: str) -> str:
        if slot == "national":
            return self.dice.choice(list(self.country.national))
        words = self.country.words if self.local and slot in self.country.words else ENGLISH
        return self.dice.choice(words[slot].split())

    def value_of(self, slot: str, name: str, plain: bool = False) -> str:
        """Return what the person has. `plain`: a phone number has its country code."""
        dice, country = self.dice, self.country
        makers: dict[str, Callable[[], str]] = {
            "given": lambda: self.given,
            "family": lambda: self.family,
            "full": lambda: f"{self.given} {self.family}",
            "email": lambda: self.email,
            "phone": lambda: fill(
                dice, dice.choice(country.phones if plain or dice.random() < 0.5 else country.local_phones)
            ),
            "birth": lambda: self.born.strftime(dice.choice(country.dates)),
            "street": lambda: dice.choice(country.streets.split("|")),
            "national": lambda: country.national[name](dice, self.born),
            "iban": self._iban,
            "card": lambda: card(dice),
            "ip": lambda: public_address(dice),
            "password": lambda: secret(dice),
        }
        return makers[slot]()

    def _iban(self) -> str:
        text = iban(self.dice, self.country.bban)
        return (
            text if self.dice.random() < 0.7 else " ".join(text[at : at + 4] for at in range(0, len(text), 4))
        )

    def field(self, slot: str) -> Field:
        name = self.name_of(slot)
        return Field(slot, name, self.value_of(slot, name), KINDS.get(slot, slot))

    def fields(self) -> list[Field]:
        """What a record of a person, a payment or a session has."""
        dice = self.dice
        slots = ["given", "family"] if dice.random() < 0.65 else ["full"]
        theme = dice.choice(("person", "person", "payment", "session"))
        likely = {"person": ("email", "phone", "birth", "street", "national"), "payment": ("iban", "card", "street", "phone"),
                  "session": ("email", "ip", "password", "phone")}[theme]  # fmt: skip
        return [self.field(slot) for slot in (*slots, *(one for one in likely if dice.random() < 0.7))]
