"""Names in certificates."""

import warnings

from kdissect.tls.vector_reader import Cursor, ShortMessageError


def certificate_names(body: bytes, is_13: bool) -> tuple[str, ...]:
    """Subject and alternative names of the first certificate of a Certificate message.

    RFC 8446 section 4.4.2 and RFC 5246 section 7.4.2. Empty where there is none, where it is malformed, or
    without the package cryptography.
    """
    cursor = Cursor(body)
    try:
        if is_13:
            cursor.pull_vector(1)  # certificate_request_context
        entries = Cursor(cursor.pull_vector(3))
        return _names(entries.pull_vector(3)) if entries.left else ()
    except ShortMessageError:
        return ()


def _names(der: bytes) -> tuple[str, ...]:
    try:
        from cryptography import x509
    except ImportError:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd about a certificate is not for stderr
            certificate = x509.load_der_x509_certificate(der)
        subject = certificate.subject.rfc4514_string()
        try:
            extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            return (subject,)
        return (subject, *(str(name.value) for name in extension.value))
    except Exception:
        return ()
