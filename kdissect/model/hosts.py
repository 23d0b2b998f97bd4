"""Names for addresses: the file of `--hosts`.

Lines `ADDRESS NAME ...` as in /etc/hosts (further names are aliases and are left out; `#` starts a comment),
or CSV with an address and a name in either order, with or without a line of titles. An address may have a
port, `10.0.0.1:9092` or `[fe80::1]:9092`: then the name is for this port alone.

Or what `kubectl get -o json` prints (`model.kubernetes_names`).
"""

import re
from collections.abc import Iterator, Mapping

from kdissect.model.endpoint import Endpoint

# A DNS name's limit (RFC 1035 section 3.1). Longer text is not a name. Kubernetes has two names and a slash.
_MAX_NAME = 2 * 255
_FORBIDDEN = frozenset(' \t",:[]\\')
# An IPv6 address with a port begins with a bracket, too.
_BEGINS_JSON = re.compile(r"\{|\[\s*[{\]]")


class HostNames(Mapping[str, str]):
    """Names by address. `is_used` is true once an address was looked up that has a name."""

    __slots__ = ("_names", "is_used")

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)
        self.is_used = False

    def __getitem__(self, address: str) -> str:
        name = self._names[address]
        self.is_used = True
        return name

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def parse_hosts(text: str, skipped: list[str] | None = None) -> dict[str, str]:
    """Return names by address, in the form `Endpoint` has. Raises ValueError, which says where the text is
    wrong.

    Names in JSON that are not host names are skipped, and added to `skipped` with the reason: nobody writes
    the output of `kubectl` by hand.
    """
    found: dict[str, str] = {}
    bare = text.lstrip("\ufeff \t\r\n")
    if _BEGINS_JSON.match(bare):
        from kdissect.model.kubernetes_names import names_in  # start-up: few files are JSON

        for address, name in names_in(bare):
            canonical = _address(address)
            if canonical is None:  # "None" of a service without an address
                continue
            try:
                found.setdefault(canonical, _checked(name))
            except ValueError as error:
                if skipped is not None:
                    skipped.append(f"{canonical}: {error}")
        return found
    for number, words in _lines(text):
        try:
            address, name = _pair(words)
        except ValueError as error:
            if number == 1 and "," in text.partition("\n")[0]:
                continue  # the titles of a CSV file
            raise ValueError(f"line {number}: {error}") from None
        found.setdefault(address, name)  # the first line counts, as in /etc/hosts
    return found


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        bare = line.partition("#")[0].strip()
        if bare:
            yield number, _cells(bare) if "," in bare or ";" in bare else bare.split()


def _cells(line: str) -> list[str]:
    separator = "," if "," in line else ";"
    return [cell.strip().strip('"') for cell in line.split(separator)]


def _pair(words: list[str]) -> tuple[str, str]:
    """Return the address and name, whichever comes first."""
    if len(words) < 2 or not words[1]:
        raise ValueError("a line is 'ADDRESS NAME'")
    for address, name in ((words[0], words[1]), (words[1], words[0])):
        canonical = _address(address)
        if canonical is not None:
            return canonical, _checked(name)
    raise ValueError(f"neither {words[0]!r} nor {words[1]!r} is an IP address")


def _address(text: str) -> str | None:
    """Return an address, with or without a port, in the form that is compared; None for anything else."""
    from ipaddress import ip_address  # only if a file was passed: it costs a millisecond or two

    host, port = text, ""
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        port = port.removeprefix(":")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    try:
        canonical = str(ip_address(host))
    except ValueError:
        return None
    if not port:
        return canonical
    return str(Endpoint(canonical, int(port))) if port.isdigit() and int(port) < 65536 else None


def _checked(name: str) -> str:
    """Return a name that is safe to print next to a port."""
    if not name.isprintable() or len(name) > _MAX_NAME or _FORBIDDEN & set(name):
        raise ValueError(f"{name!r} is no host name")
    return name
