"""kdissect: a Kafka wire-protocol analyzer.

`for exchange in kdissect.open("a.pcap"): ...` reads captures. `kdissect.decode_request(frame)` and
`kdissect.decode_response(frame, api_key, api_version)` decode single frames. docs/library.md lists every name
that other programs may use; all else may change in any release. Names are imported at first use, so that
`import kdissect` costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers, the same as _HOMES for who runs it
    from kdissect.decoders.messages import DecodedRequest as DecodedRequest
    from kdissect.decoders.messages import DecodedResponse as DecodedResponse
    from kdissect.decoders.messages import decode_request as decode_request
    from kdissect.decoders.messages import decode_response as decode_response
    from kdissect.library import Dissection as Dissection
    from kdissect.library import Table as Table
    from kdissect.library import open as open  # noqa: A004  the name a user looks for
    from kdissect.model.errors import CaptureError as CaptureError
    from kdissect.model.errors import CaptureWarning as CaptureWarning
    from kdissect.model.errors import DecodeError as DecodeError
    from kdissect.model.errors import KdissectError as KdissectError
    from kdissect.session.exchange import Exchange as Exchange

__version__: str
_VERSION = "__version__"

_HOMES = {
    "CaptureError": "kdissect.model.errors",
    "CaptureWarning": "kdissect.model.errors",
    "DecodeError": "kdissect.model.errors",
    "DecodedRequest": "kdissect.decoders.messages",
    "DecodedResponse": "kdissect.decoders.messages",
    "Dissection": "kdissect.library",
    "Exchange": "kdissect.session.exchange",
    "KdissectError": "kdissect.model.errors",
    "Table": "kdissect.library",
    "decode_request": "kdissect.decoders.messages",
    "decode_response": "kdissect.decoders.messages",
    "open": "kdissect.library",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    home = "kdissect.model.version" if name == _VERSION else _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kdissect' has no attribute {name!r}")
    from importlib import import_module  # at first use: start-up

    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *_HOMES})
