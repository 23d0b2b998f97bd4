"""Names of fields, and words before a value in a text, that say which personal data the value is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Generic, TypeVar

from kdissect.personal.abbreviations import with_abbreviations
from kdissect.personal.bounds import MAX_LEAVES
from kdissect.personal.languages import BY_LANGUAGE
from kdissect.personal.transliterated import transliterated

T = TypeVar("T")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_POSSESSIVE = re.compile(
    r"(?<=[A-Za-z])['\u2019]s(?![A-Za-z])|(?<=[\u0400-\u04ff])['\u2019\u02bc](?=[\u0400-\u04ff])"
)
_LETTERS = str.maketrans(
    {"æ": "ae", "Æ": "Ae", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "đ": "d", "Đ": "D", "œ": "oe"}
)
_IP_VERSION = re.compile(r"IPv(?=[46])")
_MAX_NAME = 200  # characters of a name that are read
_SHORTEST_JOINED = 6
_WRITTEN_OUT = re.compile(r"([oau])e|(?<=a)a()")
# Of plurals, and what databases that fold case join: `telefonnr`.
_ENDINGS = "s|(?<=s)es|number|nummer|numero|num|nr|no"
_LAST_OF_ENDINGS = "srom"  # letters
_PARTICLES = "をはがのも은는이가을를"  # after a noun, in a sentence of Japanese or Korean
UNDIVIDED = r"\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Characters of scripts whose words no blanks separate: jamo and Hangul, kana and Han."""
_UNDIVIDED = re.compile(f"[{UNDIVIDED}]")
# Texts about a field that an application shows: `label.password`, `emailHint`.
_ABOUT_FIELDS = re.compile(r"(?:^|(?<= ))(?:labels?|placeholder|hint|tooltip|helptext|i18n|errors?)(?= |$)")

# Phrases by tag, of all languages; `BY_LANGUAGE` has more. Names are compared without accents, and camelCase
# and snake_case are split into words.
_PHRASES = {
    "email": "email, e mail, mail, correo, courriel, email address, mailadresse, sahkoposti, epost",
    "phone": (
        "phone, telephone, tel, telefon, telefone, telefono, telefoon, telefonnummer, telefoonnummer, "
        "mobile, mobil, mobilnummer, cell, cellphone, celular, handy, handynummer, movil, portable, "
        "cellulare, komorka, komorkowy, gsm, fax, msisdn, puhelin, puhelinnumero, phonenumber, "
        "mobiltelefon, whatsapp, rufnummer, telefonu, mobilnr, telefonnr, telnr, mobiel, call me at, "
        "calling station id, called station id, called number, calling number, caller number, callee number, "
        "called party, calling party, dialled number, "
        "dialed number, natel, mob, mobnr, mobile phone, phone mobile, telf, telf 1, "
        "telemovel, telemoveis, contacto telefonico, telefonni cislo, cislo telefonu, telefonske cislo, "
        "mobilni telefon, mobiltlf, tlf, tlfnr, tlfnummer, numar de telefon, numar telefon, broj telefona, "
        "ruckruf unter, erreichbar unter, zu erreichen unter, telefonisch unter, unter der nummer, "
        "anrufen unter, "
        "reach him at, reach her at, reach them at, reachable at, call him at, call her at, contact him at, "
        "contact her at, ring him on, ring her on, phone him on, phone her on, rappeler au, joignable au, "
        "joindre au, appeler au, appelez le, llamar al, llame al, al numero, ligar para, ligue para, "
        "chiamare al, richiamare al, pod numerem, zadzwonic pod, dzwonic pod, volat na, zavolat na, "
        "na cisle, "
        "ring pa, ring til, numaradan, bellen op, bellen naar, te bereiken op, terugbellen op, sunati la, "
        "la numarul, "
        "电话, 手机"
    ),
    "iban": (
        "iban, bank account, bankverbindung, kontonummer, konto, rekeningnummer, numer konta, rachunek, rib"
    ),
    "card": (
        "card, cc, track 1, track 2, track data, cardnumber, cardno, pan, creditcard, cc number, ccn, "
        "ccnumber, kreditkarte, "
        "kreditkartennummer, kartennummer, tarjeta, carte, carta, karta, karty, kaart, kaartnummer, kort, "
        "kortnummer, cartao, visa, mastercard, amex, luottokortti"
    ),
    "latitude": (
        "lat, latitude, latitud, breitengrad, latitudine, szerokosc, szerokosc geograficzna, leveysaste, "
        "breddgrad"
    ),
    "longitude": (
        "lon, lng, long, longitude, longitud, langengrad, laengengrad, longitudine, dlugosc, "
        "dlugosc geograficzna, pituusaste, langdgrad"
    ),
    "geo": (
        "geo, gps, loc, geoloc, geo point, geopoint, latlong, lat long, location, coordinates, coords, "
        "coordinate, position, latlng, latlon, lat lng, lat lon, "
        "koordinaten, coordenadas, coordonnees, posizione, standort, ubicacion, geolocation, wspolrzedne, "
        "koordinater, coordinaten"
    ),
    "ip": (
        "ip, ipaddress, ip address, ipaddr, ip addr, ipv4, ipv6, remote addr, remoteaddr, remote address, "
        "forwarded for, adresse ip, direccion ip, clientip, remoteip, sourceip, ip client, ip cliente, ip "
        "user, ip usuario, ip origin, ip origen, ip origem, ip source, ip utilisateur, ip kunde, ip klienta, "
        "ip klijenta"
    ),
    "forwarded": "forwarded for, xff, forwarded",
    # Whose addresses are of no person.
    "server": (
        "server, gateway, gw, dns, nameserver, name server, resolver, ntp, broadcast, netmask, subnet, "
        "cluster, "
        "node, pod, load balancer, loadbalancer, vip, virtual ip, nas, upstream, proxy, bind, listen, "
        "listener, "
        "advertised, management, mgmt, next hop, nexthop, router, firewall, backend, broker, bootstrap, "
        "container, relay, internal ip"
    ),
    "message_id": "message id, msg id, in reply to, references, content id",
    "version": (
        "rev, revision, rollback, rolled back, rollback target, patch, hotfix, bios, uefi, microcode, "
        "baseband, "
        "bootloader, runtime, "
        "assembly, bump, bumped, updated from, updated to, update to, update from, installed, edition, dll, "
        "nuget, gem, crate, opera, safari, webkit, applewebkit, appendix, annex, paragraph, "
        "fw, deps, libs, libraries, lockfile, sbom, fixed in, patched in, "
        "version, ver, release, build, oid, firmware, user agent, useragent, software, sdk, driver, upgrade, "
        "upgraded, downgraded, section, chapter, clause, dependency, dependencies, package, packages, "
        "plugin, plugins, "
        "chrome, chromium, firefox, electron, webview, image tag, jar, artifact"
    ),
    "password": (
        "password, passwd, passwort, kennwort, contrasena, mot de passe, motdepasse, haslo, wachtwoord, "
        "senha, losenord, salasana, passphrase, client secret, clientsecret, api key, apikey, access "
        "token, accesstoken, refresh token, refreshtoken, session token, sessiontoken, auth token, "
        "authtoken, id token, secret key, secretkey, secret access key, private key, privatekey, pwd, "
        "parola, psk, api secret, apisecret, app secret, shared secret, api token, apitoken, bot token, "
        "signing secret, webhook secret, jwt secret, consumer secret, encryption key, signing key, "
        "master key, "
        "storage key, security token, secret token, oauth token, bearer token, adgangskode, kodeord, passord"
    ),
    # Names that things have, too: the value must look random.
    "maybe_password": "pass, passcode, pw",
    "token": "secret, token",
    "authorization": "authorization, proxy authorization, auth, x api key",
    "aws_secret": "aws secret, secret access key, aws secret access key, secretaccesskey, awssecretkey",
    "name": (
        "first name, firstname, given name, givenname, last name, lastname, surname, family name, "
        "familyname, full name, fullname, middle name, maiden name, vorname, nachname, familienname, "
        "apellido, apellidos, prenom, nom de famille, nom famille, cognome, sobrenome, nome completo, "
        "imie, nazwisko, voornaam, achternaam, fornamn, efternamn, etunimi, sukunimi, cardholder, card "
        "holder, holder name, customer name, patient name, contact name, person name, employee name, "
        "account holder, kontoinhaber, recipient name, nombre completo, kundenname, primer apellido, "
        "segundo apellido, imie i nazwisko, volledige naam, fullstandigt namn, vollername, voller name, "
        "vollstandiger name, nome proprio, primeiro nome, ultimo nome, apelido, apelidos, nom complet, "
        "nombres, nome e cognome, jmeno, krestni jmeno, prijmeni, cele jmeno, meno, priezvisko, cele meno, "
        "fornavn, mellomnavn, mellemnavn, efternavn, etternavn, fulde navn, fuldt navn, fullt navn, prenume, "
        "real name, realname, name on card, card name, signatory name, "
        "nume de familie, numele complet, nume complet, ime i prezime, prezime, 姓名"
    ),
    "short_name": "fname, lname, mname, vname, nname, sn, cn",
    "part_of_name": "first, last, given, family",
    "any_name": (
        "display name, legal name, account name, name, nom, nombre, nome, naam, namn, nimi, navn, nazwa, "
        "x nome"
    ),
    "person": (
        "author, committer, reviewer, reporter, requester, requestor, organizer, organiser, guardian, "
        "caller, "
        "manager, supervisor, teacher, mentor, nurse, technician, advisor, consultant, spouse, husband, "
        "wife, mother, "
        "father, parent, child, kin, next of kin, relative, dependant, dependent, carer, witness, signer, "
        "halter, "
        "conjoint, conyuge, coniuge, ehepartner, echtgenoot, malzonek, "
        "tenant, landlord, keeper, donor, candidate, invitee, signatory, account holder, cardholder, "
        "policyholder, "
        "driver, courier, chauffeur, fahrer, conductor, motorista, chofer, kierowca, bestuurder, forare, "
        "kuljettaja, autista, kurier, repartidor, assignee, uploader, customer, user, person, patient, "
        "employee, contact, recipient, doctor, physician, member, attendee, "
        "participant, visitor, "
        "rider, arzt, medecin, medico, passenger, guest, student, "
        "subscriber, payer, payee, debtor, creditor, applicant, kunde, benutzer, cliente, usuario, "
        "persona, utente, utilisateur, klient, osoba, klant, gebruiker, kund, asiakas, insured, "
        "beneficiary, buyer, kontakt, empfanger, empfaenger, destinatario, traveller, traveler, "
        "patiente, passager, pasajero, paciente, paciente, passageiro, ospite, gast, fahrgast, reisender, "
        "mieter, "
        "employe, empleado, mitarbeiter, dipendente, medewerker, pracownik, anstalld, tyontekija, funcionario"
    ),
    # Of an account or a card, if there is one: files have an owner, too.
    "owner": (
        "owner, holder, titular, titulaire, titolare, inhaber, posiadacz, eigenaar, houder, innehavare, "
        "indehaver, "
        "innehaver, majitel, drzitel, vlasnik, proprietario, proprietaire, propietario, account owner, "
        "card owner, "
        "beneficiary, embossing, embossed, attention, attn, ordenante, beneficiario, beneficiaria, "
        "beneficiaire, "
        "donneur d ordre, pagador, zahler, auftraggeber, zahlungsempfanger, zleceniodawca, odbiorca, "
        "nadawca, "
        "opdrachtgever, begunstigde, betalningsmottagare, betalare, mottagare, avsandare, modtager, platce, "
        "prijemce, "
        "platitor, beneficiar, ordonator, uplatitelj, primatelj, alici, gonderen, maksaja, saaja, ordinante, "
        "beneficiarista, ordenador, payor, originator, remitter, counterparty"
    ),
    # Streets, and words of other languages: next to a postal code, or if the value has a word of streets.
    "maybe_address": "via, gate, gade, vei, veg, road, ind, dir, str, end, dom",
    # A label of a parcel or an invoice: the name in it is of a person, if it looks like one.
    "parcel": (
        "shipping address, billing address, delivery address, ship to, bill to, deliver to, "
        "lieferadresse, rechnungsadresse, adresse de livraison, adresse de facturation, direccion de envio, "
        "direccion envio, indirizzo di spedizione, adres dostawy, bezorgadres, leveransadress, "
        "leveringsadresse"
    ),
    # As above, if there is a postal code: a way of shipping has a name, too.
    "maybe_parcel": (
        "sender, receiver, consignee, consignor, addressee, absender, expediteur, remitente, mittente, "
        "nadawca, "
        "remetente, afzender, avsandare, afsender, avsender, lahettaja, odesilatel, odosielatel, felado, "
        "posiljatelj, gonderen, pengirim, shipping, billing, delivery, versand, rechnung, lieferung, "
        "livraison, facturation, envio, entrega"
    ),
    # Of a street without its number.
    "bare_number": "number, numero, num, numar",
    "house_number": (
        "bldg, bldg nb, bldg no, bldg nbr, house, house number, housenumber, house no, house nr, "
        "building number, street number, hausnummer, "
        "hausnr, "
        "huisnummer, huisnr, numero exterior, num ext, numero civico, civico, nr domu, numer domu, "
        "husnummer, husnr, talonumero, cislo popisne, cislo domu, cislo orientacni, hazszam, kucni broj, "
        "hisna stevilka, "
        "nr bloc, kapi no, bina no, дом, будинок"
    ),
    "postal_code": (
        "zip, zip code, zipcode, postal code, postalcode, postcode, post code, plz, postleitzahl, "
        "code postal, codigo postal, "
        "cp, cap, cep, kod pocztowy, postnummer, postnr, postinumero, psc, iranyitoszam, postcode, "
        "posta kodu, pin code, "
        "pincode, eircode, индекс, почтовый индекс, 邮编, 郵便番号, 우편번호"
    ),
    "birth": (
        "gbdat, birth, birth time, birth date, birthdate, date of birth, dob, birthday, born, geburtsdatum, "
        "geburtstag, "
        "geboren, geb, fecha de nacimiento, fecha nacimiento, nacimiento, date de naissance, date "
        "naissance, naissance, data di nascita, data nascita, nascita, data de nascimento, data "
        "nascimento, nascimento, data urodzenia, urodzenia, geboortedatum, geboorte, fodelsedatum, fodd, "
        "syntymaaika, syntynyt, datum narozeni, narozeni, datum narodenia, narodenia, fodselsdato, "
        "foedselsdato, fodselsdag, foedselsdag, fodt, data nasterii, data de nastere, datum rodenja, 出生日期"
    ),
    "address": (
        "street, street address, address, address line, addressline, addr, home address, billing address, "
        "shipping address, delivery address, postal address, strasse, anschrift, adresse, calle, "
        "direccion, domicilio, rue, indirizzo, ulica, adres, straat, gata, gatuadress, adress, "
        "katuosoite, osoite, endereco, rua, logradouro, wohnort, address1, straatnaam, lieferadresse, "
        "rechnungsadresse, morada, ulice, ulica, adresa, bydliste, trvale bydliste, vejnavn, vej, bopael, "
        "bopel, gateadresse, veiadresse, strada, 地址"
    ),
    "no_address": (
        "email, e mail, mail, ip, mac, host, broker, web, url, wallet, memory, contract, bitcoin, server, "
        "remote, peer, bind, listen, advertised, socket, node, proxy, bus, pci, i2c, mem, space, base, "
        "physical, virtual, heap, stack, register, kernel, dns, gateway, multicast, broadcast, view"
    ),
    "national": (
        "national id, nationalid, national number, personal id number, tax id, taxid, tax number, tax no, "
        "social security, "
        "social security number, identity number, identity card, id number, idnumber, id card, personal "
        "id, personalid, personal number, citizen id, tin, national insurance, national identifier, "
        "identification number, national id no, identity document, identity document number, id no, "
        "personal id number, personal identification, personal identity, personal code, taxpayer id, "
        "taxpayer number, government id, "
        "person id number, national register, civil id, id card number"
    ),
}
# Cards that pay nothing.
_OTHER_CARDS = re.compile(
    r"(?:^| )(?:loyalty|gift|member|membership|sim|id|identity|health|insurance|library|boarding|punch|bonus"
    r"|business|smart"
    r"|access|memory|sd|graphics|network|video|sound|green|score|report|post|reward|rewards|points|kunden"
    r"|student|press"
    r"|wild|dash) ?card"
)
# What is no login by its name: tokens of a page, of a change, of a card.
_OTHER_TOKENS = re.compile(
    r"(?:^| )(?:continuation|page|next|prev|previous|sync|cancel|cancellation|fencing|csrf|xsrf|idempotency"
    r"|resume|cursor|"
    r"start|end|payment|card|push|device|fcm|apns|registration|delegation|request|response|tracking|trace"
    r"|lexer|"
    r"parser|stop|pad|eos|bos|unk|mask|prompt|completion|input|output) token$"
)
# Who has a name, a phone and an address, and is no person.
_COMPANIES = (
    "carrier company store shop merchant bank brand vendor supplier service hotel restaurant airline station "
    "airport school warehouse venue branch organization organisation org depot hub firma unternehmen marke "
    "laden "
    "filiale lieferant entreprise societe magasin boutique marque banque fournisseur empresa tienda "
    "marca banco "
    "proveedor sucursal azienda negozio banca fornitore loja fornecedor sklep dostawca magaza butikk foretag "
    "bedrijf winkel butik virksomhed yritys kauppa "
)
# What a name of, such as `carrier_name`, is of no person.
_THINGS = (
    f"{_COMPANIES}"
    "product item city town "
    "country region state file host event campaign project plan category department role "
    "group team class type model device app application package module function method table column "
    "topic cluster field job task queue bucket index domain "
    "course document form rule schema database db "
    "server node pod container namespace image pipeline stage step action metric sensor channel "
    "acceptor playlist album song movie game currency status tag label template theme font color colour "
    "section "
    "article page produkt artikel stadt ort land produit ville pays producto ciudad pais prodotto "
    "citta paese "
    "produto cidade miasto kraj produs magazin oras urun sehir ulke stad vare by tuote kaupunki"
)
# Tags of names, such as `passenger_name`, that are of a person.
_ROLES_OF_NAMES = frozenset({"card", "iban", "person", "parcel", "maybe_parcel", "name", "birth", "address"})
# Words next to a word for a name that say nothing else, and those for people who have no other field.
_NEXT_TO_NAMES = frozenset((
    "full", "legal", "display", "real", "own", "new", "old", "current", "previous", "local", "native",
    "latin",
    "kana", "kanji", "english", "ascii", "official", "preferred", "public", "my", "your", "his", "her", "the",
    "of", "a", "and", "e", "y", "i", "et", "und", "og", "och", "de", "del", "do", "da", "des", "der", "van",
    "la", "le", "el", "en", "fr", "es", "it", "pt", "nl", "pl", "ar", "ja", "zh", "na", "på", "pa",
    "account", "acct", "cc", "counterparty", "counter", "party", "originator", "remitter", "payor", "drawer",
    "ordering", "embossed", "client", "clients", "owner", "holder", "individual", "ordenante",
    "haltija", "haltijan", "usr", "emp", "pat", "author", "signer", "signatory", "reporter",
    "requester", "requestor", "guardian", "parent", "mother", "father", "spouse", "partner", "child", "donor",
    "tenant", "resident", "invitee", "organizer", "organiser", "candidate", "caller", "callee", "agent",
    "manager", "teacher", "nurse", "worker", "staff", "victim", "witness", "heir", "minor",
    "profile", "whatsapp",
    "nino", "padre", "madre", "pere", "mere", "vater", "mutter", "ojciec", "matka", "otec",
    "inhaber", "titular", "titulaire", "titolare", "posiadacz", "posiadacza", "wlasciciel", "wlasciciela",
    "eigenaar", "houder", "agare", "innehavare", "indehaver", "innehaver", "majitel", "drzitel", "sahibi",
    "sahip", "proprietario", "proprietaire", "propietario", "pemilik", "vlasnik", "lastnik", "tulajdonos",
    "pracownika", "pacjenta", "odbiorcy", "zakaznika", "pacienta", "zamestnance", "klienta", "uzytkownika",
    "kullanici", "hasta", "alici", "gonderen", "contato", "contacto", "contatto", "tomador", "segurado",
    "asegurado", "assicurato", "assure", "versicherte", "versicherter", "versicherungsnehmer", "forsakrad",
))  # fmt: skip
# A last word of names about secrets.
_ABOUT_SECRETS = frozenset((
    "name", "names", "strength", "method", "rules", "label", "reset", "prefix", "alias", "source", "location",
    "no", "nr", "number", "nummer", "numero", "mode", "field", "algorithm", "alg", "required",
    "changed", "updated", "created", "rotation", "age", "ttl", "lifetime", "timeout", "seconds", "minutes",
    "hours", "days", "endpoint", "url", "uri", "limit",
))  # fmt: skip
_OF_SECRETS = frozenset({"password", "maybe_password", "token"})
# A last word that makes another thing of a name: `phone_type`, `card_id`.
_OTHER_THINGS = frozenset((
    "id", "ids", "uuid", "guid", "type", "kind", "count", "hash", "status", "state", "verified",
    "valid", "at", "time", "timestamp", "ts", "length", "size", "country", "version", "index",
    "enabled", "flag", "required", "model", "hint", "policy", "expiry", "expires", "expiration",
    "brand", "offset", "sequence", "seq", "revision", "checksum", "digest", "etag", "file", "files",
    "filename", "filepath", "path", "dir", "directory", "class", "provider", "encoder", "policy", "pattern",
    "regex", "format", "column", "handler", "callback", "factory", "ref",
))  # fmt: skip


def words_of(name: str, most: int = _MAX_NAME) -> str:
    """Return the words of a name in lower case without accents: `billing address` for `billingAddress`."""
    name = _IP_VERSION.sub("Ipv", _POSSESSIVE.sub("", name))
    if name.isascii():
        return " ".join(_WORD.findall(name[-most:])).lower()
    plain = unicodedata.normalize("NFKD", name[-most:].replace("ß", "ss"))
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    plain = (
        plain.translate(_LETTERS).replace("ł", "l").replace("Ł", "L").replace("ø", "o").replace("\u0131", "i")
    )
    if not plain.isascii():  # camelCase in Greek and Cyrillic
        pairs = zip(plain, " " + plain, strict=False)
        plain = "".join(f" {one}" if one.isupper() and last.islower() else one for one, last in pairs)
    return " ".join(_WORD.findall(plain)).lower()


def phrase_pattern(phrases: str, is_whole: bool = False) -> re.Pattern[str]:
    """Return the pattern of phrases, which commas separate, in what `words_of` returns.

    Databases that fold case join words: `dateofbirth`. Chinese, Japanese and Korean do not separate words,
    and the last part of a compound says what it is. So their phrases may be the end of a word, unless
    `is_whole`.
    """
    plain = _plain(phrases)
    joined = {phrase.replace(" ", "") for phrase in plain if " " in phrase and len(phrase) > _SHORTEST_JOINED}
    listed = sorted(plain | joined, key=len, reverse=True)
    ends = [] if is_whole else [phrase for phrase in listed if len(phrase) > 1 and _UNDIVIDED.search(phrase)]
    anywhere = f"|(?:{'|'.join(map(re.escape, ends))})(?=[{_PARTICLES}]| |$)" if ends else ""
    return re.compile(rf"(?:^|(?<= ))(?:{'|'.join(map(re.escape, listed))})(?:{_ENDINGS})?(?= |$){anywhere}")


@cache
def _plain(phrases: str) -> frozenset[str]:
    """Return phrases that commas separate, as `words_of` returns them, and with abbreviations."""
    plain = map(words_of, phrases.split(","))
    return frozenset(short for phrase in plain for short in with_abbreviations(phrase))


def _without_endings(phrase: str) -> Iterator[str]:
    """Yield a phrase, and what is before each of `_ENDINGS` at its end."""
    yield phrase
    if phrase[-1] in _LAST_OF_ENDINGS:
        for ending in ("s", "number", "nummer", "numero", "num", "nr", "no"):
            if phrase.endswith(ending):
                yield phrase.removesuffix(ending)
        if phrase.endswith("ses"):
            yield phrase.removesuffix("es")


class PhraseIndex(Generic[T]):
    """Finds phrases in words of ASCII, each with a label, as `phrase_pattern` does, but in one pass."""

    def __init__(self, phrases: Iterable[tuple[T, str]]) -> None:
        self._labels: dict[str, set[T]] = {}
        for label, listed in phrases:
            for phrase in _plain(listed):
                for one in (phrase, phrase.replace(" ", "")):
                    self._labels.setdefault(one, set()).add(label)
        self._most = 1 + max(one.count(" ") for one in self._labels)  # words of a phrase

    def labels_in(self, words: str) -> set[T]:
        """Return the labels of the phrases in some words."""
        listed = words.split()
        found: set[T] = set()
        for at in range(len(listed)):
            for end in range(at + 1, min(at + self._most, len(listed)) + 1):
                for one in _without_endings(" ".join(listed[at:end])):
                    if one in self._labels:
                        found |= self._labels[one]
        return found


def _all_phrases(tag: str) -> str:
    listed = [_PHRASES[tag]]
    for language, words in BY_LANGUAGE.items():
        if tag in words:
            listed += [words[tag], *filter(None, [transliterated(language, words[tag])])]
    return ", ".join(listed)


_PATTERNS = {tag: phrase_pattern(_all_phrases(tag), tag == "any_name") for tag in _PHRASES}
# The last part of a compound says what it is: `wohnadresse`, `buyerlastname`. Machines have addresses, too.
_COMPOUNDS = {
    "address": "adresse|addresse|adress|address|adres|adrese|anschrift|osoite",
    "name": (
        "vorname|nachname|familienname|lastname|firstname|surname|fullname|voornaam|achternaam|fornavn|efternavn|etternavn|"
        "fornamn|efternamn|etunimi|sukunimi|apellidos?|cognome|sobrenome|nazwisko|prijmeni|priezvisko|prezime|soyad|soyadi"
    ),
    "birth": (
        "geburtsdatum|geboortedatum|birthdate|dateofbirth|birthday|fodselsdato|fodelsedatum|syntymaaika|nacimiento|"
        "naissance|nascita|nascimento|urodzenia|narozeni|narodenia|nasterii|rodenja|rojstva"
    ),
    "phone": (
        "telefon|telefoon|telefono|telefone|phone|telefonnummer|telefoonnummer|mobilnummer|handynummer|phonenumber|mobilenumber|"
        "rufnummer"
    ),
}
_PATTERNS["phone"] = re.compile(rf"(?!tel aviv)(?:{_PATTERNS['phone'].pattern})")
for _tag, _ends in _COMPOUNDS.items():
    _joined = "|".join(sorted(_PHRASES["no_address"].replace(" ", "").split(","), key=len, reverse=True))
    _not = rf"(?!(?:{_joined})[a-z]*(?: |$))" if _tag == "address" else ""
    _PATTERNS[_tag] = re.compile(
        rf"{_PATTERNS[_tag].pattern}|(?:^|(?<= )){_not}[^\W\d_]{{2,24}}(?:{_ends})(?= |$)"
    )
_PATTERNS["thing"] = re.compile(rf"(?:^|(?<= ))(?:{'|'.join(_THINGS.split())})s?(?= |$)")
_PATTERNS["company"] = re.compile(rf"(?:^|(?<= ))(?:{'|'.join(_COMPANIES.split())})s?$")
# Nothing else in the name.
for _tag in ("part_of_name", "bare_number", "owner"):
    _PATTERNS[_tag] = re.compile(rf"^(?:{_PATTERNS[_tag].pattern})$")
for _tag in ("maybe_password", "token", "house_number", "postal_code"):
    _PATTERNS[_tag] = re.compile(rf"(?:{_PATTERNS[_tag].pattern})$")
_OF_A_PERSON = re.compile(
    rf"({'|'.join(one.strip() for one in _all_phrases('person').split(',') if len(one.strip()) > 4)})([^\W\d"
    rf"_]{{3,}})"
)
_PATTERNS["person_itself"] = re.compile(
    rf"^(?:(?:lead|main|primary|secondary|first|second|other|emergency) )?(?:{_PATTERNS['person'].pattern})$"
)
# Of a number: the day of a birth, and neither its place nor the weight or the year.
_PATTERNS["birth_moment"] = re.compile(
    rf"(?:{_PATTERNS['birth'].pattern})(?: (?:on|date|datum|dt|day|days|ms|millis|ts|timestamp|epoch))?$"
)
# Right before a date in a sentence.
_PATTERNS["birth_before"] = re.compile(
    rf"(?:{_PATTERNS['birth'].pattern})[{_PARTICLES}]?(?: (?:is|was|on|am|the|den|le|la|el|il|em|o|dnia|dne"
    rf"|na|op|der|ist|est|es|it|s|e|era|fue|jest|je|van|er|ar|este))"
    r"{0,2}$"
)
_PATTERNS["birth_after"] = re.compile(rf"^(?:{_PATTERNS['birth'].pattern})")
# Files and containers have a birth, too.
_PATTERNS["birth_alone"] = re.compile(r"^(?:birth|born)$")
# Of a server, and not of a client that a word for a server is next to.
_PATTERNS["server"] = re.compile(
    rf"(?:{_PATTERNS['server'].pattern})"
    r"(?: (?:ip|ips|ipv|addr|address|addresses|host|at|is|http|https|tcp|plaintext|sasl|ssl|internal"
    r"|external|\d+))*$"
)
# Software, if nothing else is in the name.
_PATTERNS["software"] = re.compile(r"^(?:app|os|platform|browser|engine|image|tag|jdk|jre|java|python)$")
# Of one of two fields: `lat_ms` and `long_tail` are of latencies.
for _tag in ("latitude", "longitude"):
    _PATTERNS[f"{_tag}_itself"] = re.compile(
        rf"(?<!p 50 )(?<!p 9\d )(?:{_PATTERNS[_tag].pattern})"
        r"(?: (?:deg|degrees|decimal|e|wgs|coordinate|coord|value|start|end|from|to|origin|destination"
        r"|\d+))*$"
    )
# Which patterns words of ASCII may match: by the phrases in them, and by the last part of a compound.
_TAG_OF_PHRASES = {
    "birth_moment": "birth", "birth_before": "birth", "birth_after": "birth", "birth_alone": "birth",
    "latitude_itself": "latitude", "longitude_itself": "longitude", "person_itself": "person",
}  # fmt: skip
_OF_COMPOUNDS = frozenset(tag for tag in _PATTERNS if _TAG_OF_PHRASES.get(tag, tag) in _COMPOUNDS)
_ENDS_OF_COMPOUNDS = tuple(
    "|".join(_COMPOUNDS.values()).replace("apellidos?", "apellidos|apellido").split("|")
)


_OF_THINGS = {
    "thing": _THINGS, "company": _COMPANIES,
    "software": "app os platform browser engine image tag jdk jre java python",
}  # fmt: skip
_INDEX = PhraseIndex(
    (
        tag,
        ",".join(_OF_THINGS[tag].split())
        if tag in _OF_THINGS
        else _all_phrases(_TAG_OF_PHRASES.get(tag, tag)),
    )
    for tag in _PATTERNS
)


def _may_match(words: str) -> Iterable[str]:
    """Return the tags whose patterns words may match: trying them all takes ten times longer."""
    if not words.isascii():
        return _PATTERNS
    found = _INDEX.labels_in(words)
    has_end = any(word.endswith(_ENDS_OF_COMPOUNDS) for word in words.split())
    return found | _OF_COMPOUNDS if has_end else found


ANY_ID = _PATTERNS["national"]
"""Phrases for national ids of any country."""
ANY_ID_PHRASES = _all_phrases("national")


def _parted(words: str) -> str:
    """Return a word that begins with that for a person as two words: `destinatar prenume`."""
    found = _OF_A_PERSON.fullmatch(words)
    if found is None or not any(says(_PATTERNS[tag], found[2], True) for tag in _OF_PARTS):
        return words
    return f"{found[1]} {found[2]}"


_OF_PARTS = ("name", "any_name", "birth", "address", "phone", "email")


# Who has an account or a card, in any order: `wlascicielRachunku`, `kontohavare`, `titular_de_la_tarjeta`.
_ACCOUNT = (
    r"(?:account|acct|card|cc|konto|kontot|konta|kart[aeuiy]?|karten?|kort|kortet|kartice|kartu|kartya|tili"
    r"|tilin|kortin|rekening|kaart"
    r"|rachunku|cuenta|tarjeta|conto|carta|compte|carte|conta|cartao|contului|cardului|cont|uctu|karty"
    r"|racuna|racun"
    r"|hesap|hesabi|szamla|saskaitos|konts|konta|arve|saldo|счета|карты|рахунку|картки|сметка|карта"
    r"|λογαριασμου|καρτας)"
)
_OWNER = (
    r"(?:owner|holder|inhaber|inhaberin|havare|haver|innehavare|innehaver|indehaver|eigenaar|houder|haltija"
    r"|omistaja|omanik"
    r"|titular|titulaire|titolare|intestatario|wlasciciel|posiadacz|majitel|vlastnik|drzitel|vlasnik|imetnik"
    r"|nositelj|sahibi"
    r"|tulajdonos|birtokos|ipasnieks|savininkas|pemilik|pemegang|proprietario|proprietaire|titularul"
    r"|titularului"
    r"|владелец|держатель|власник|титуляр|δικαιουχος|κατοχος)"
)
_SMALL = r"(?: ?(?:de|del|da|do|du|des|la|le|el|al|of|the|di|della|dello|na|van|der))*"
_OF_ACCOUNT = re.compile(
    rf"(?:^|(?<= )){_ACCOUNT}s?{_SMALL} ?{_OWNER}(?:s|name)?(?= |$)|(?:^"
    rf"|(?<= )){_OWNER}{_SMALL} ?{_ACCOUNT}(?= |$)"
    r"|口座名義人?|口座名義|カード名義人?|예금주|카드소유자|开户名|户名|持卡人"
)


class Telling:
    """Tags of a name, or of the words before a value."""

    __slots__ = ("tags", "words")

    def __init__(self, words: str, is_name: bool) -> None:
        words = _parted(words) if is_name else words
        self.words = words
        is_about = is_name and _ABOUT_FIELDS.search(words) is not None
        tags = (
            set() if is_about else {tag for tag in _may_match(words) if says(_PATTERNS[tag], words, is_name)}
        )
        if is_name and not is_about and says(_OF_ACCOUNT, words, True):
            tags.add("name")
        if words.rpartition(" ")[2] in _ABOUT_SECRETS:
            tags -= _OF_SECRETS
        if _OTHER_CARDS.search(words):
            tags.discard("card")
        if _OTHER_TOKENS.search(words):
            tags.discard("token")
        is_of_other = "thing" in tags or ("address" in tags and "person" not in tags)
        if is_name and "any_name" in tags and (is_of_other or not _is_of_person(words, tags)):
            tags.discard("any_name")
        self.tags = frozenset(tags)


def _is_of_person(words: str, tags: set[str]) -> bool:
    """Return whether a name of a name may be of a person: `client_name`, and not `thread_name`."""
    if tags & _ROLES_OF_NAMES:
        return True
    rest = set(_PATTERNS["any_name"].sub("", words).split())
    return all(word in _NEXT_TO_NAMES or word.isdigit() for word in rest)


def says(pattern: re.Pattern[str], words: str, is_name: bool) -> bool:
    """Return whether words have a phrase, and a name no last word that makes another thing of it."""
    found = None
    for found in pattern.finditer(words):  # noqa: B007  the last one counts
        pass
    if found is None:
        return False
    return not is_name or found.end() == len(words) or words.rpartition(" ")[2] not in _OTHER_THINGS


@lru_cache(MAX_LEAVES)
def of_name(name: str) -> Telling:
    """Return the tags of a field's name. Letters with marks may be written as two: `foedelsedatum`."""
    words = words_of(name)
    found = Telling(words, True)
    if not found.tags and _WRITTEN_OUT.search(words):
        written = Telling(_WRITTEN_OUT.sub(r"\1", words), True)
        return written if written.tags else found
    return found


def without(tag: str, words: str) -> str:
    """Return the words of a name without the last phrase of a tag and what follows it."""
    found = None
    for found in _PATTERNS[tag].finditer(words):  # noqa: B007  the last one counts
        pass
    return words if found is None else words[: found.start()].strip()


def is_about_fields(name: str) -> bool:
    """Return whether what a name holds is about fields, such as their labels."""
    return _ABOUT_FIELDS.search(words_of(name)) is not None


def is_phrase(text: str, tag: str) -> bool:
    """Return whether a text is one of the phrases of a tag, and nothing else."""
    return _PATTERNS[tag].fullmatch(words_of(text)) is not None


def is_name_of_person(name: str) -> bool:
    """Return whether the name of a struct says that its parts are of a person's name, and not of a host's."""
    words = words_of(name)
    is_bare = words in ("name", "names")
    return is_bare or (words.endswith((" name", " names")) and bool(of_name(name).tags & {"name", "person"}))


@lru_cache(MAX_LEAVES)
def of_context(text: str) -> Telling:
    """Return the tags of the words before a value."""
    return Telling(words_of(text), False)
