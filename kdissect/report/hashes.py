"""The hash of a capture, so that a report names exactly what was judged."""

from kdissect.model.wording import path_of

CHUNK = 1 << 20


def sha256_of(path: str) -> str | None:
    """SHA-256 of a file in hex, by its name as text (`model.path_text`).

    None for standard input and what cannot be read any more.
    """
    from hashlib import sha256

    digest = sha256()
    try:
        with open(path_of(path), "rb") as file:  # noqa: PTH123  paths stay strings, as everywhere in capture
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    except (OSError, ValueError):
        return None
    return digest.hexdigest()
