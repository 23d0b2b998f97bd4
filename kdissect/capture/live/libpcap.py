"""libpcap itself: the library of this machine, the calls that live capture makes, and their structures.

Source of the calls and structures: pcap(3PCAP) and the pages it names, <pcap/pcap.h> of libpcap 1.10.
"""

import ctypes
import os
import sys
from ctypes import POINTER, Structure, c_char_p, c_int, c_long, c_uint, c_void_p
from functools import cache
from typing import Any

from kdissect.capture.live.live_settings import MissingError

ERROR_SIZE = 256  # PCAP_ERRBUF_SIZE

# Names of the library by platform, several if releases differ. Debian's 0.8 is libpcap 1.x, too.
_NAMES = {
    "darwin": ("/usr/lib/libpcap.A.dylib", "libpcap.dylib"),
    "win32": ("wpcap.dll",),
}
_ELSEWHERE = ("libpcap.so.1", "libpcap.so.0.8", "libpcap.so")


class Interface(Structure):
    """pcap_if_t, pcap_findalldevs(3PCAP)."""


Interface._fields_ = [
    ("next", POINTER(Interface)),
    ("name", c_char_p),
    ("description", c_char_p),
    ("addresses", c_void_p),
    ("flags", c_uint),
]


class Program(Structure):
    """struct bpf_program, pcap_compile(3PCAP)."""

    _fields_ = (("length", c_uint), ("instructions", c_void_p))


class PacketHeader(Structure):
    """struct pcap_pkthdr, pcap_loop(3PCAP). `fraction` is in the requested units."""

    _fields_ = (
        ("seconds", c_long),
        ("fraction", c_int if sys.platform == "darwin" else c_long),  # suseconds_t
        ("captured", c_uint),
        ("length", c_uint),
    )


class Counts(Structure):
    """struct pcap_stat, pcap_stats(3PCAP); Npcap's has three more."""

    _fields_ = (
        ("received", c_uint),
        ("dropped", c_uint),
        ("dropped_by_interface", c_uint),
        ("more", c_uint * 3),
    )


TAKER: Any = ctypes.CFUNCTYPE(None, c_void_p, POINTER(PacketHeader), c_void_p)  # pcap_handler

# Each call with its result and its arguments. A handle is an opaque pointer.
_CALLS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "pcap_findalldevs": (c_int, (POINTER(POINTER(Interface)), c_char_p)),
    "pcap_freealldevs": (None, (POINTER(Interface),)),
    "pcap_create": (c_void_p, (c_char_p, c_char_p)),
    "pcap_set_snaplen": (c_int, (c_void_p, c_int)),
    "pcap_set_promisc": (c_int, (c_void_p, c_int)),
    "pcap_set_timeout": (c_int, (c_void_p, c_int)),
    "pcap_set_buffer_size": (c_int, (c_void_p, c_int)),
    "pcap_set_tstamp_precision": (c_int, (c_void_p, c_int)),
    "pcap_activate": (c_int, (c_void_p,)),
    "pcap_datalink": (c_int, (c_void_p,)),
    "pcap_open_dead": (c_void_p, (c_int, c_int)),
    "pcap_compile": (c_int, (c_void_p, POINTER(Program), c_char_p, c_int, c_uint)),
    "pcap_offline_filter": (c_int, (POINTER(Program), POINTER(PacketHeader), c_char_p)),
    "pcap_setfilter": (c_int, (c_void_p, POINTER(Program))),
    "pcap_freecode": (None, (POINTER(Program),)),
    "pcap_dispatch": (c_int, (c_void_p, c_int, TAKER, c_void_p)),
    "pcap_dump_fopen": (c_void_p, (c_void_p, c_void_p)),
    "pcap_dump_flush": (c_int, (c_void_p,)),
    "pcap_dump_close": (None, (c_void_p,)),
    "pcap_stats": (c_int, (c_void_p, POINTER(Counts))),
    "pcap_setnonblock": (c_int, (c_void_p, c_int, c_char_p)),
    "pcap_breakloop": (None, (c_void_p,)),
    "pcap_geterr": (c_char_p, (c_void_p,)),
    "pcap_statustostr": (c_char_p, (c_int,)),
    "pcap_close": (None, (c_void_p,)),
}


@cache
def library() -> Any:
    """Return the library, its calls declared. Raises MissingError if there is none, or one before 1.5
    (2013).
    """
    pcap = _load()
    for name, (result, arguments) in _CALLS.items():
        try:
            call = getattr(pcap, name)
        except AttributeError:
            raise MissingError(f"libpcap has no {name}") from None
        call.restype, call.argtypes = result, arguments
    return pcap


def _load() -> Any:
    if sys.platform == "win32":  # Npcap puts it into a folder of its own
        folder = os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "Npcap")  # noqa: PTH118
        if os.path.isdir(folder):  # noqa: PTH112
            os.add_dll_directory(folder)
    for name in _NAMES.get(sys.platform, _ELSEWHERE):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise MissingError("libpcap is not installed")
