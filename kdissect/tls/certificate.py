"""Facts of the certificate that one end showed: names, issuer and dates (RFC 5280)."""

import datetime
import warnings
from typing import NamedTuple

from kdissect.tls.handshake_messages import Cursor, ShortMessageError

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SECOND_NS = 1_000_000_000


class Certificate(NamedTuple):
    """An end's own certificate. `names`: subject, then alternatives. Dates are nanoseconds since 1970."""

    names: tuple[str, ...]
    issuer: str
    valid_from_ns: int
    valid_until_ns: int


def certificate_in(body: bytes, is_13: bool) -> Certificate | None:
    """Return the first certificate of a Certificate message.

    RFC 8446 section 4.4.2 and RFC 5246 section 7.4.2. None if there is no certificate, if it is malformed, or
    without the package cryptography.
    """
    cursor = Cursor(body)
    try:
        if is_13:
            cursor.pull_vector(1)  # certificate_request_context
        entries = Cursor(cursor.pull_vector(3))
        return _read(entries.pull_vector(3)) if entries.left else None
    except ShortMessageError:
        return None


def _read(der: bytes) -> Certificate | None:
    try:
        from cryptography import x509  # an extra
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd about a certificate is not for stderr
            certificate = x509.load_der_x509_certificate(der)
        names: tuple[str, ...] = (certificate.subject.rfc4514_string(),)
        try:
            extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
            names += tuple(str(name.value) for name in extension.value)
        except x509.ExtensionNotFound:
            pass
        dates = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        return Certificate(names, certificate.issuer.rfc4514_string(), *map(_nanoseconds, dates))
    except Exception:
        return None


def date_text(time_ns: int) -> str:
    """Return a date of a certificate as RFC 3339 has it. Certificates have whole seconds."""
    date = _EPOCH + datetime.timedelta(seconds=time_ns // _SECOND_NS)
    return date.isoformat(timespec="seconds").replace("+00:00", "Z")


def _nanoseconds(date: datetime.datetime) -> int:
    return (date - _EPOCH) // datetime.timedelta(seconds=1) * _SECOND_NS
