"""Client ids with their bytes, each once: thousands of connections of one client have one between them."""

MAX_KEPT = 1000

_known: dict[str | None, tuple[str | None, bytes]] = {}


def shared(client_id: str | None) -> tuple[str | None, bytes]:
    """A client id and its bytes, as they were first seen."""
    known = _known.get(client_id)
    if known is None:
        if len(_known) >= MAX_KEPT:
            _known.clear()
        known = _known[client_id] = client_id, (client_id or "").encode("utf-8", "replace")
    return known
