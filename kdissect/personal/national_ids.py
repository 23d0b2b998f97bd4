"""National ids of people: by their form, their check digits (python-stdnum) and the names that they have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import NamedTuple

from kdissect.personal.bounds import MAX_LEAVES
from kdissect.personal.check_digits import OWN_CHECKS
from kdissect.personal.hits import Confidence, Hit, Kind
from kdissect.personal.telling_names import (
    ANY_ID,
    ANY_ID_PHRASES,
    PhraseIndex,
    Telling,
    phrase_pattern,
    says,
    words_of,
)

_ALL_DIGITS = re.compile(r"\\d\{(\d+)\}")
_NUMBERS = ("numero", "num", "nro", "nr", "no")  # before the name of an id
_ANY = -1  # in place of the number of an id
_BEFORE, _AFTER = r"(?<![\w.\-/+])", r"(?![\w/]|[.\-]\w)"


class NationalId(NamedTuple):
    """A national id. `module` of stdnum has its check digits; without one it has none.

    `form` is its form next to one of the phrases `names`. `alone` is a form that needs no name, if it has
    one that hardly anything else has.
    """

    label: str
    module: str
    names: str
    form: str
    alone: str = ""


IDS = (
    NationalId(
        "DE Steuer-ID",
        "de.idnr",
        "steuer id, steuerid, steuer idnr, idnr, steueridentifikationsnummer, steuernummer, "
        "steuer identifikationsnummer, steuer nr, id nr, identifikationsnummer, steuerliche id, "
        "steuer identnr, steuer identnummer, "
        "steuerliche identifikationsnummer, steuernr, tin",
        r"\d{2} ?\d{3} ?\d{3} ?\d{3}",
    ),
    NationalId(
        "ES DNI",
        "es.dni",
        "dni, nif, document number, document no, doc number, id document, documento, documento identidad, "
        "doc identidad, "
        "identidad, numero documento",
        r"\d{2}\.?\d{3}\.?\d{3}[- ]?[A-Z]",
    ),
    NationalId(
        "ES NIE",
        "es.nie",
        "nie, dni, nif, document number, document no, documento, documento identidad, doc identidad, "
        "identidad, numero documento",
        r"[XYZ][- ]?\d{1}\.?\d{3}\.?\d{3}[- ]?[A-Z]",
    ),
    NationalId(
        "IT codice fiscale",
        "it.codicefiscale",
        "codice fiscale, codicefiscale, cod fiscale, cod fisc, fiscal code, cf",
        r"[A-Z]{6}[\dLMNPQRSTUV]{2}[ABCDEHLMPRST][\dLMNPQRSTUV]{2}[A-Z][\dLMNPQRSTUV]{3}[A-Z]",
        r"[A-Z]{6}[\dLMNPQRSTUV]{2}[ABCDEHLMPRST][\dLMNPQRSTUV]{2}[A-Z][\dLMNPQRSTUV]{3}[A-Z]",
    ),
    NationalId(
        "FR NIR",
        "fr.nir",
        "nir, securite sociale, secu, insee, nss, numero de securite sociale, num secu, no secu, n secu, "
        "numero securite sociale, numero secu",
        r"[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}",
        r"[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}",
    ),
    NationalId("PL PESEL", "pl.pesel", "pesel", r"\d{11}"),
    NationalId(
        "NL BSN",
        "nl.bsn",
        "bsn, bsn nummer, bsnnummer, bsnnr, burgerservicenummer, burger service nummer, sofinummer, sofi",
        r"\d{4}[. ]\d{2}[. ]\d{3}|\d{9}"
    ),
    NationalId(
        "SE personnummer",
        "se.personnummer",
        "personnummer, personnr, person nr, pers nr, persnr, pnr, person nummer, samordningsnummer",
        r"(?:19|20)?\d{6}[-+]?\d{4}",
    ),
    NationalId(
        "FI hetu",
        "fi.hetu",
        "hetu, henkilotunnus, henkilo tunnus, sotu, personal identity code",
        r"\d{6}[-+A-FU-Y]\d{3}[\dA-FHJ-NPR-Y]",
        r"\d{6}(?:[A-F]\d{3}[\dA-FHJ-NPR-Y]|[-+]\d{3}[A-FHJ-NPR-Y])",
    ),
    NationalId(
        "BR CPF", "br.cpf", "cpf, documento", r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}", r"\d{3}\.\d{3}\.\d{3}-\d{2}"
    ),
    NationalId(
        "CN RIC",
        "cn.ric",
        "ric, 身份证, 身份证号, sfz, shenfenzheng, resident id",
        r"[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]",
        r"[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]",
    ),
    NationalId(
        "US SSN",
        "us.ssn",
        "ssn, social security, taxpayer, tin",
        r"\d{3}-\d{2}-\d{4}|\d{3} \d{2} \d{4}|\d{9}",
    ),
    NationalId(
        "GB NINO",
        "",
        "nino, national insurance, national insurance number, national insurance no, ni number, ni no, ni nr",
        r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]",
    ),
    NationalId("GB NHS number", "gb.nhs", "nhs, nhs number", r"\d{3}[ -]?\d{3}[ -]?\d{4}"),
    NationalId(
        "BE national number",
        "be.nn",
        "rijksregisternummer, rijksregister, rijksregisternr, registre national, "
        "numero de registre national, niss, insz, "
        "numero national, national register number, nationaal nummer, rrn, nrn",
        r"\d{2}\.?\d{2}\.?\d{2}-?\d{3}\.?\d{2}",
        r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}",
    ),
    NationalId(
        "NO fødselsnummer",
        "no.fodselsnummer",
        "fodselsnummer, foedselsnummer, fodselsnr, fodsels nummer, foedselsnr, fnr, personnummer, personnr",
        r"\d{6} ?\d{5}",
    ),
    NationalId(
        "DK CPR",
        "dk.cpr",
        "cpr, cpr nummer, cprnr, cprnummer, cpr nr, cpr number, personnummer",
        r"\d{6}-?\d{4}",
    ),
    NationalId(
        "CH AHV",
        "ch.ssn",
        "ahv, avs, ahv nummer, ahvnummer, ahvnr, ahv nr, ahvn13, avs nummer, no avs, numero avs, "
        "sozialversicherungsnummer, "
        "sv nummer", r"756\.?\d{4}\.?\d{4}\.?\d{2}",
        r"756\.\d{4}\.\d{4}\.\d{2}",
    ),
    NationalId(
        "AT Versicherungsnummer",
        "at.vnr",
        "insurance number, insurance no, insurance nr, sv number, sozialversicherungsnummer, "
        "sozialversicherungsnr, versicherungsnummer, "
        "versicherungsnr, sv nummer, "
        "svnummer, "
        "svnr, sv nr, vsnr, vnr",
        r"\d{4} ?\d{6}",
    ),
    NationalId(
        "PT NIF",
        "pt.nif",
        "nif, contribuinte, numero contribuinte, numero fiscal, numero de identificacao fiscal, "
        "no contribuinte",
        r"\d{9}",
    ),
    NationalId(
        "CZ rodné číslo",
        "cz.rc",
        "rodne cislo, rodnecislo, birth number, rc, rodc",
        r"\d{6}/?\d{3,4}",
    ),
    NationalId("RO CNP", "ro.cnp", "cnp, cod numeric personal, cod numeric", r"[1-9]\d{12}"),
    NationalId("BG EGN", "bg.egn", "egn, егн", r"\d{10}"),
    NationalId(
        "TR kimlik",
        "tr.tckimlik",
        "tc kimlik, t c kimlik, tckimlik, tc kimlik no, tckn, kimlik, tc no, tcno, tc",
        r"[1-9]\d{10}",
    ),
    NationalId(
        "IN Aadhaar",
        "in_.aadhaar",
        "aadhaar, aadhar, adhaar, adhar, aadhaar no, uidai, uid number, uid no",
        r"[2-9]\d{3} ?\d{4} ?\d{4}",
    ),
    # The check digit of the RFC is often wrong in use, so that stdnum does not ask for it.
    NationalId("MX RFC", "mx.rfc", "rfc", r"[A-ZÑ]{4}\d{6}[A-Z\d]{3}"),
    NationalId(
        "MX CURP",
        "mx.curp",
        "curp, clave unica",
        r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z\d]\d",
        r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z\d]\d"
    ),
    NationalId(
        "KR RRN",
        "kr.rrn",
        "rrn, resident registration, resident number, jumin, jumin no, juminno, jumin beonho, juminbeonho, "
        "jumin deungnok beonho, 주민등록번호, 주민번호",
        r"\d{6}-?\d{7}",
    ),
    NationalId(
        "ZA id number",
        "za.idnr",
        "south african id, rsa id, sa id, sa id number, id nommer",
        r"\d{6} ?\d{4} ?\d{3}",
    ),
    NationalId(
        "IE PPS",
        "ie.pps",
        "pps, ppsn, pps no, pps number, personal public service number",
        r"\d{7}[A-W][A-IWTX]?",
    ),
    NationalId("HR OIB", "hr.oib", "oib, osobni identifikacijski broj", r"\d{11}"),
    NationalId("GR AMKA", "gr.amka", "amka, αμκα", r"\d{11}"),
    NationalId("EE isikukood", "ee.ik", "isikukood, isiku kood, personal code", r"[1-8]\d{10}"),
    NationalId("LT asmens kodas", "lt.asmens", "asmens kodas, ak, personal code", r"[3-6]\d{10}"),
    NationalId("LV personas kods", "lv.pvn", "personas kods, pers kods, personal code", r"[0-3]\d{5}-?\d{5}"),
    NationalId("SI EMŠO", "si.emso", "emso, jmbg, maticni broj, jmbg broj", r"\d{13}"),
    NationalId("SK rodné číslo", "sk.rc", "rodne cislo, rodnecislo, rc, birth number", r"\d{6}/?\d{3,4}"),
    NationalId("IS kennitala", "is_.kennitala", "kennitala, kt", r"\d{6}-?\d{4}"),
    NationalId(
        "JP My Number",
        "jp.in_",
        "my number, mynumber, individual number, kojin bango, kojinbango, kojin bangou, mai nanba, 個人番号, "
        "マイナンバー",
        r"\d{4}[ -]?\d{4}[ -]?\d{4}",
    ),
    NationalId(
        "IN PAN",
        "in_.pan",
        "pan, permanent account number, pan number, pan no",
        r"[A-Z]{3}P[A-Z]\d{4}[A-Z]",
    ),
    NationalId("HU TAJ", "hu.taj", "taj, taj szam, tajszam", r"\d{3}[ -]?\d{3}[ -]?\d{3}"),
    NationalId("HU tax id", "hu.tax", "adoazonosito, adoazonosito jel, adoazonosito jele", r"8\d{9}"),
    NationalId("AU TFN", "au.tfn", "tfn, tfn number, tax file number, tax file no", r"\d{3} ?\d{3} ?\d{2,3}"),
    NationalId(
        "CA SIN",
        "ca.sin",
        "social insurance, social insurance number, social insurance no, sin number, sin no, nas, "
        "numero assurance sociale, "
        "numero d assurance sociale",
        r"\d{3}[ -]?\d{3}[ -]?\d{3}",
    ),
    NationalId(
        "CL RUT",
        "cl.rut",
        "rut, rut cliente",
        r"\d{1,2}\.?\d{3}\.?\d{3}-?[\dK]",
        r"\d{1,2}\.\d{3}\.\d{3}-[\dK]",
    ),
    NationalId("AR DNI", "", "dni, documento nacional, nro documento", r"\d{2}\.?\d{3}\.?\d{3}"),
    NationalId("CO NIT", "co.nit", "cedula, cedula ciudadania, nit", r"\d{6,10}-\d"),
    NationalId(
        "CO cédula",
        "",
        "cedula, cedula ciudadania, cedula de ciudadania, nro cedula, numero cedula, num cedula, cc cedula",
        r"\d{1,3}(?:\.\d{3}){2,3}|\d{6,8}|1\d{9}",
    ),
    NationalId(
        "EC cédula",
        "ec.ci",
        "cedula, cedula identidad, cedula de identidad, nro cedula, numero cedula, num cedula, ci",
        r"\d{9}-?\d",
    ),
    NationalId(
        "IL id number",
        "il.idnr",
        "teudat zehut, israeli id, mispar zehut, zehut, tz, t z, תעודת זהות, מספר זהות, תז",
        r"\d{9}",
    ),
    NationalId(
        "TH id number",
        "th.pin",
        "thai id, บัตรประชาชน, เลขบัตรประชาชน, เลขประจำตัวประชาชน, citizen id, pid",
        r"\d-?\d{4}-?\d{5}-?\d{2}-?\d",
    ),
    NationalId(
        "MY NRIC",
        "my.nric",
        "nric, mykad, no kad pengenalan, kad pengenalan, ic no, no ic, ic number, ic",
        r"\d{6}-?\d{2}-?\d{4}",
    ),
    NationalId(
        "ID NIK",
        "id.nik",
        "nik, no nik, nomor nik, nomor induk kependudukan, no ktp, nomor ktp, ktp",
        r"\d{16}",
    ),
    NationalId("PK CNIC", "", "cnic, nicop, شناختی کارڈ نمبر", r"\d{5}-?\d{7}-?\d"),
    NationalId(
        "DE Rentenversicherungsnummer",
        "de.rvnr",
        "rentenversicherungsnummer, sozialversicherungsnummer, rvnr, rv nummer, sv nummer, svnr, "
        "versicherungsnummer",
        r"\d{2} ?\d{6} ?[A-Z] ?\d{3}",
    ),
    NationalId("GR AFM", "gr.vat", "afm, αφμ", r"\d{9}"),
    NationalId(
        "RU SNILS",
        "ru.snils",
        "snils, снилс",
        r"\d{3}-?\d{3}-?\d{3}[ -]?\d{2}",
        r"\d{3}-\d{3}-\d{3} \d{2}",
    ),
    NationalId("RU INN", "ru.inn", "inn, инн", r"\d{12}"),
    NationalId(
        "RS, BA, ME, MK JMBG",
        "si.emso",
        "jmbg, embg, maticni broj",
        r"\d{13}",
    ),
    NationalId("KZ IIN", "kz.iin", "iin, иин, жсн", r"\d{12}"),
    NationalId(
        "IR kod melli",
        "ir.id",
        "kod melli, kode melli, codemelli, melli code, کد ملی, شماره ملی",
        r"\d{10}",
    ),
    NationalId("SG NRIC", "sg.nric", "nric, nric no, fin, fin no, nric fin", r"[STFGM]\d{7}[A-Z]"),
    NationalId(
        "HK identity card",
        "hk.id",
        "hkid, hkid no, 身份證, 身份證號碼",
        r"[A-Z]{1,2}\d{6}(?:\([\dA]\)|[\dA])",
    ),
    NationalId(
        "TW id",
        "tw.id",
        "身分證字號, 身分證, 身份證字號, tw id, national id no",
        r"[A-Z][1289]\d{8}",
    ),
    NationalId(
        "UY cédula",
        "uy.ci",
        "cedula, cedula identidad, cedula de identidad",
        r"\d\.?\d{3}\.?\d{3}-?\d",
    ),
    NationalId("PE DNI", "pe.cui", "dni, cui, documento nacional", r"\d{8}-?[\dA-K]"),
    NationalId("VE cédula", "ve.rif", "cedula, cedula identidad, rif", r"[VE]-?\d{8}-?\d"),
    NationalId(
        "DO cédula",
        "do.cedula",
        "cedula, cedula identidad, cedula de identidad",
        r"\d{3}-?\d{7}-?\d",
    ),
    NationalId("CU carné", "cu.ni", "carne identidad, carne de identidad, ci", r"\d{11}"),
    NationalId("SV NIT", "sv.nit", "nit", r"\d{4}-?\d{6}-?\d{3}-?\d"),
    NationalId("NZ IRD number", "nz.ird", "ird, ird number, ird no", r"\d{2,3}-?\d{3}-?\d{3}"),
    NationalId(
        "AE Emirates ID",
        "luhn",
        "emirates id, eid number, eid no, الهوية الإماراتية",
        r"784-?\d{4}-?\d{7}-?\d",
        r"784-\d{4}-\d{7}-\d"),
    NationalId("SA national id", "luhn", "iqama, iqama no, saudi id, رقم الهوية, رقم الإقامة", r"[12]\d{9}"),
    NationalId("VN CCCD", "", "cccd, cmnd, so cccd, so cmnd, căn cước công dân, số cccd", r"\d{12}|\d{9}"),
    NationalId("PH PhilSys", "", "philsys, philsys number, philsys no", r"\d{4}-?\d{4}-?\d{4}(?:-?\d{4})?"),
    NationalId("NG NIN", "", "nin, bvn, national identification number", r"\d{11}"),
    NationalId("GH card", "", "ghana card, ghana card number", r"GHA-\d{9}-\d", r"GHA-\d{9}-\d"),
    NationalId("LK NIC", "", "nic, nic no, nic number", r"\d{9}[VX]|(?:19|20)\d{10}"),
    NationalId("UA tax number", "ua.rntrc", "rnokpp, ipn, рнокпп, іпн", r"\d{10}"),
)  # fmt: skip


class _Compiled(NamedTuple):
    national: NationalId
    names: re.Pattern[str]
    form: re.Pattern[str]
    alone: re.Pattern[str] | None


def _names(one: NationalId) -> str:
    """Return the names of an id, also as databases join them: `numerocpf`."""
    short = [name.strip() for name in one.names.split(",") if " " not in name.strip()]
    return ",".join([one.names, *(f"{number}{name}" for number in _NUMBERS for name in short)])


def _with_blanks(form: str) -> str:
    """Return the form of an id of digits alone with blanks or dots between them, as people write them."""
    plain = _ALL_DIGITS.fullmatch(form)
    return form if plain is None else rf"\d(?:[ .]?\d){{{int(plain[1]) - 1}}}"


@cache
def _compiled() -> tuple[_Compiled, ...]:
    return tuple(
        _Compiled(
            one,
            phrase_pattern(_names(one)),
            re.compile(f"{_BEFORE}(?:{_with_blanks(one.form)}){_AFTER}", re.IGNORECASE),
            re.compile(f"{_BEFORE}(?:{one.alone}){_AFTER}") if one.alone else None,
        )
        for one in IDS
    )


@cache
def _any_name() -> re.Pattern[str]:
    """Return the pattern of all names, so that most texts are looked at once."""
    return phrase_pattern(",".join(map(_names, IDS)))


@cache
def _index() -> PhraseIndex[int]:
    """Return the index of the names of all ids, by their numbers."""
    return PhraseIndex([(_ANY, ANY_ID_PHRASES), *((number, _names(one)) for number, one in enumerate(IDS))])


def _ids_named_in(words: str) -> set[int]:
    """Return the numbers of the ids whose names are in the words of a text, and `_ANY` for any country's."""
    if words.isascii():
        return _index().labels_in(words)
    if not (_any_name().search(words) or ANY_ID.search(words)):
        return set()
    found = {number for number, one in enumerate(_compiled()) if one.names.search(words)}
    return found | {_ANY} if ANY_ID.search(words) else found


@cache
def _any_alone() -> re.Pattern[str]:
    return re.compile(f"{_BEFORE}(?:{'|'.join(one.alone for one in IDS if one.alone)})")


@cache
def _validator(module: str) -> Callable[[str], bool]:
    own = OWN_CHECKS.get(module)
    if own is not None:
        return own
    found: Callable[[str], bool] = import_module(f"stdnum.{module}").is_valid
    return found


@lru_cache(MAX_LEAVES)
def _named(words: str, is_name: bool) -> tuple[_Compiled, ...]:
    numbers = _ids_named_in(words)
    return tuple(
        one for number, one in enumerate(_compiled()) if number in numbers and says(one.names, words, is_name)
    )


def names_an_id(name: str) -> bool:
    """Return whether the name of a field is that of a national id."""
    return bool(_named(words_of(name), True))


def _candidates(text: str, name: Telling) -> tuple[_Compiled, ...]:
    """Return the ids that a text may have, by the name of its field and the words in it."""
    if "national" in name.tags:
        return _compiled()
    # A number alone has no words.
    words = words_of(text, len(text)) if text.strip("0123456789 .-/") else ""
    named = _named(name.words, True)
    in_text = _ids_named_in(words)
    if _ANY in in_text:
        return _compiled()
    if in_text:
        named = tuple(one for number, one in enumerate(_compiled()) if number in in_text or one in named)
    if _any_alone().search(text):
        return (*named, *(one for one in _compiled() if one.alone is not None and one not in named))
    return named


def national_ids(
    text: str, name: Telling, telling: Callable[[int], list[tuple[Telling, bool]]]
) -> Iterator[Hit]:
    """Yield the national ids in a text. `name` is the name of its field. `telling` returns what names the
    value at an offset: tags, and whether they are of a field's name.
    """
    for one in _candidates(text, name):
        for found in one.form.finditer(text):
            number = found[0]
            near = telling(found.start())
            is_named = any(says(one.names, words.words, is_name) for words, is_name in near)
            is_any = not is_named and any("national" in words.tags for words, _ in near)
            is_alone = one.alone is not None and one.alone.fullmatch(number) is not None
            is_alone &= not any("version" in words.tags for words, _ in near)
            if not (is_named or is_alone or (is_any and (one.national.module or not number.isdigit()))):
                continue
            if one.national.module and not _is_valid(one.national.module, number):
                continue
            is_sure = is_named and one.national.module not in ("", "us.ssn", "dk.cpr")
            confidence = Confidence.SURE if is_sure else Confidence.LIKELY
            yield Hit(found.start(), found.end(), Kind.NATIONAL_ID, confidence, one.national.label)


def _is_valid(module: str, number: str) -> bool:
    try:
        return _validator(module)(number) or _validator(module)(number.replace(".", "").replace(" ", ""))
    except Exception:  # a library of numbers may stumble over a number: then it is none
        return False
