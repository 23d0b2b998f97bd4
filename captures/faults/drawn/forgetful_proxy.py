"""A TCP proxy on loopback that drops connections that are idle, as load balancers do."""

import contextlib
import select
import socket
import struct
import threading
import time

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER without a wait: the close is a reset
_CHUNK = 1 << 16
_TURN_S = 0.1


class ForgetfulProxy:
    """Listens on `port` and connects to `to_port`, until `close`.

    A connection without a byte for `idle_s` seconds is closed at both ends: by RST if it `resets`, else by
    FIN.
    """

    def __init__(self, port: int, to_port: int, idle_s: float, *, resets: bool) -> None:
        self._to, self._idle_s, self._resets = ("127.0.0.1", to_port), idle_s, resets
        self._is_over = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End it."""
        self._is_over.set()
        self._listening.shutdown(socket.SHUT_RDWR)  # `accept` returns
        self._listening.close()

    def _accept(self) -> None:
        while not self._is_over.is_set():
            try:
                near, _ = self._listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(self._to) as far, contextlib.suppress(OSError):
            other, used = {near: far, far: near}, time.monotonic()
            while not self._is_over.is_set() and time.monotonic() - used < self._idle_s:
                for ready in select.select([near, far], [], [], _TURN_S)[0]:
                    data = ready.recv(_CHUNK)
                    if not data:
                        return
                    other[ready].sendall(data)
                    used = time.monotonic()
            if self._resets:
                for end in (near, far):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
