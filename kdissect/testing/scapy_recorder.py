"""Records with scapy, where neither dumpcap nor tcpdump is installed."""

import warnings
from typing import Any

from kdissect.testing.recording import PATIENCE_S, CannotRecordError

_ETHERNET = 1  # what the loopback interface of Linux gives; scapy warns if it has to guess


class ScapyRecorder:
    """A thread of scapy that writes each packet to the file when it comes."""

    def __init__(self, path: str, interface: str, what: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scapy imports what others have deprecated
                from scapy.sendrecv import AsyncSniffer
                from scapy.utils import PcapWriter
        except ImportError as error:
            raise CannotRecordError(f"not installed: {error}") from None
        self._writer: Any = PcapWriter(path, linktype=_ETHERNET, nano=True, sync=True)
        self._sniffer: Any = AsyncSniffer(iface=interface, filter=what, prn=self._writer.write, store=False)
        self._sniffer.start()

    def failure(self) -> str:
        """Why the thread ended, once it has."""
        if self._sniffer.thread.is_alive():
            return ""
        error = getattr(self._sniffer, "exception", None)
        return str(error) if error is not None else "ended by itself"

    def end(self) -> None:
        """Stop the thread."""
        if self._sniffer.thread.is_alive():
            self._sniffer.stop(join=False)
            self._sniffer.thread.join(PATIENCE_S)
        self._writer.close()
