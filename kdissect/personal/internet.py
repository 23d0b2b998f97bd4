"""Email and IP addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from kdissect.personal.hits import Confidence, Hit, Kind

# The sign may be a code of a URL or of HTML, and a number may follow: `anna@example.com-7` in a key.
_EMAIL = re.compile(
    r"(?<![\w.+\-%@$~])[^\W_](?:(?!%(?:25)?40)[\w.+\-'%]){0,63}(?:@|%(?:25)?40|&#64;|&#[xX]40;)"
    r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}(?:[^\W\d_]{2,24}|xn--[a-z0-9-]{2,59})"
    r"(?:(?![\w@-]|\.\w)|(?=[-_]\d{1,12}(?![\w.-])))"
)
_SIGN = re.compile(r"@|%(?:25)?40|&#64;|&#[xX]40;")
# Names of files such as icon@2x.png and of units of systemd, and users of remote repositories.
_NO_DOMAINS = frozenset((
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "js", "ts", "jar", "local",
    "internal", "localdomain", "svc", "service", "socket", "timer", "mount", "slice", "scope",
))  # fmt: skip
_IN_URL = re.compile(r"://[^\s/@]*\Z")
_LONGEST_URL = 200
# Ids of messages (RFC 5322, section 3.6.4).
_MESSAGE_ID = re.compile(
    r"(?:^|[\s\"'{,])(?:message[-_ ]?id|in[-_ ]?reply[-_ ]?to|references|content[-_ ]?id)"
    r"[\"']?\s?[:=]\s?[^\n,;]*<?\Z",
    re.IGNORECASE,
)
_NO_USERS = frozenset({"git", "hg", "svn"})
# Mailboxes of departments and programs (RFC 2142 has some), which are of no person.
_ROLE_WORDS = """
noreply donotreply nepasrepondre noresponder nicht antworten mailerdaemon postmaster hostmaster webmaster
abuse bounce bounces root daemon info information support service services sales office contact hello help
helpdesk servicedesk desk team hr jobs careers press media security privacy legal billing accounts
accounting invoices invoice orders order shop store newsletter news notification notifications notify alerts
alert admin administrator marketing feedback customer customerservice customercare care enquiries reception
booking bookings reservations events dpo kontakt vertrieb verkauf einkauf buchhaltung rechnung rechnungen
bestellung bestellungen kundenservice kundendienst datenschutz personal bewerbung presse empfang zentrale
ventas pedidos soporte atencion clientes facturacion contacto compras vendas suporte contato contacte
commercial commande commandes facturation compta comptabilite accueil serviceclient rh ordini assistenza
amministrazione contabilita vendite clienti biuro sklep zamowienia sprzedaz pomoc obsluga kadry
klantenservice verkoop inkoop administratie bestellingen kundtjanst ordrar faktura kundeservice salg
asiakaspalvelu myynti laskutus podpora objednavky obchod ugyfelszolgalat iroda destek iletisim siparis satis
muhasebe
"""
_ROLES = frozenset(_ROLE_WORDS.split())
_PARTS_OF_USER = re.compile(r"[._+-]")
# After a word and a slash there is a version: Chrome/81.2.69.142.
_IPV4 = re.compile(
    r"(?<![\w.\-])(?:(?<!\w/)|(?=[\d.]{7,15}:\d{2,5}\b))(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d|/(?!32\b)\d)"
)
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:]|\.\d)")
_PUBLIC = IPv6Network("2000::/3")  # RFC 4291, section 2.4, and IANA's registry of global unicast addresses
_HARDWARE_DIGITS = 2  # in each group of an EUI-64 or a World Wide Name
# Numbers of a version or a section are small, and an operator of comparison is before a version.
_LARGEST_OF_VERSION = 31
_COMPARED = frozenset(("==", ">=", "<=", "~=", "!=", "~>"))
# Before a proxy in a list of addresses (RFC 7239, section 5.2, has pairs instead).
_AFTER_ADDRESS = re.compile(r"[\da-fA-F\]], ?\"?\Z")
_FORWARDED = re.compile(r"forwarded[-_]?for|\bxff\b", re.IGNORECASE)
# After the address of a client in an access log.
_LOGGED = re.compile(r" \S{1,80} \S{1,80} \[\d{2}/[A-Z][a-z]{2}/\d{4}:")
# Before the address of who asks: `client 192.0.2.1`, `rhost=` of PAM, `src=` of CEF, a login of sshd.
_OF_CLIENT = re.compile(
    r"(?<![\w-])(?:(?:client|visitor|caller|user|kunde|cliente|visiteur|utilisateur|usuario|utente|klient"
    r"|gebruiker)(?: ip| addr(?:ess)?)?\W{1,3}|(?:rhost|src|srcip|clientip|c-ip)[=:] ?\W?"
    r"|(?:log(?:ged |-)?(?:in|on)|sign(?:ed |-)?in|password|publickey)\b[^\n;|]{0,80} from )\Z",
    re.IGNORECASE,
)
_LONGEST_LOGIN = 110
_GROUPS = 3  # of an IPv6 address, so that `a::b` of a program is none


def emails(text: str, has_tag: Callable[[int, str], bool]) -> Iterator[Hit]:
    """Yield the email addresses in a text."""
    if "@" not in text and "40" not in text and "&#64;" not in text:
        return
    for found in _EMAIL.finditer(text):
        user, domain = _SIGN.split(found[0], maxsplit=1)
        if "@" in found[0] and _IN_URL.search(text, max(0, found.start() - _LONGEST_URL), found.start()):
            continue
        if domain.rpartition(".")[2].lower() in _NO_DOMAINS or user.lower() in _NO_USERS or _is_role(user):
            continue
        if text[found.start() - 1 : found.start()] == "/" and domain.isupper():
            continue  # a principal of Kerberos: service/host@REALM
        if has_tag(-1, "message_id") or _MESSAGE_ID.search(
            text, max(0, found.start() - _LONGEST_URL), found.start()
        ):
            continue
        is_named = has_tag(found.start(), "email")
        confidence = Confidence.SURE if is_named else Confidence.LIKELY
        yield Hit(found.start(), found.end(), Kind.EMAIL, confidence)


def _is_role(user: str) -> bool:
    """Return whether the user of a mailbox is a department or a program: `no-reply`, `support+17`."""
    parts = [one for one in _PARTS_OF_USER.split(user.lower()) if not one.isdigit()]
    return bool(parts) and ("".join(parts) in _ROLES or all(one in _ROLES for one in parts))


def ip_addresses(text: str, has_tag: Callable[[int, str], bool]) -> Iterator[Hit]:
    """Yield the IP addresses in a text: public ones, and any with a telling name, but none of servers."""
    for pattern in (_IPV4, _IPV6):
        for found in pattern.finditer(text):
            address = _address(found[0])
            if address is None or any(
                has_tag(found.start(), tag) for tag in ("version", "server", "software")
            ):
                continue
            if not _is_public(address) and _is_proxy(text, found.start(), has_tag):
                continue
            is_named = (
                has_tag(found.start(), "ip")
                or _LOGGED.match(text, found.end()) is not None
                or _OF_CLIENT.search(text, max(0, found.start() - _LONGEST_LOGIN), found.start()) is not None
            )
            if not (is_named or (_is_public(address) and not _is_like_version(text, found.start(), address))):
                continue
            confidence = Confidence.SURE if is_named else Confidence.LIKELY
            yield Hit(found.start(), found.end(), Kind.IP_ADDRESS, confidence, f"IPv{address.version}")


def _is_proxy(text: str, start: int, has_tag: Callable[[int, str], bool]) -> bool:
    """Return whether an address follows another one in a list that proxies write, the client's first."""
    if not _AFTER_ADDRESS.search(text, max(0, start - 8), start):
        return False
    line = text[max(0, start - _LONGEST_URL) : start].rpartition("\n")[2]
    return has_tag(-1, "forwarded") or _FORWARDED.search(line) is not None


def _is_like_version(text: str, start: int, address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        return False
    before = text[max(0, start - 2) : start]
    return max(address.packed) <= _LARGEST_OF_VERSION or before in _COMPARED or before[-1:] in ("^", "~", "§")


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and (isinstance(address, IPv4Address) or address in _PUBLIC)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if address.is_loopback or address.is_unspecified or address.is_multicast or address.is_link_local:
        return None
    if isinstance(address, IPv6Address):
        groups = text.split(":")
        is_hardware = all(len(group) == _HARDWARE_DIGITS for group in groups)
        return address if sum(map(bool, groups)) >= _GROUPS and not is_hardware else None
    return address if int(address) >> 24 and int(address) & 0xFFFFFF else None  # 4.0.0.0 is a version
