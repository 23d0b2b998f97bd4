"""What the terminal interface shows of exchanges, as one text."""

from kdissect.tui.panes.dissection import Dissected
from kdissect.tui.panes.hex_pane import octet
from tests.tui.inline import Loaded


def on_screen(capture: str, show_secrets: bool) -> bytes:
    """Return everything that `kdissect tui` shows of the exchanges: every field, and all bytes."""
    shown: list[bytes] = []
    with Loaded(capture) as loaded:
        for row in range(len(loaded.log)):
            dissected = Dissected(loaded.log, row, show_secrets)
            waiting, buffers = list(dissected.roots), {}
            while waiting:
                item = waiting.pop()
                shown.append(f"{item.label} {item.value}".encode())
                waiting += item.children
                if item.buffer is not None:
                    buffers[id(item.buffer)] = item.buffer
            for buffer in buffers.values():
                octets = [octet(buffer, offset) for offset in range(len(buffer.data))]
                shown += [" ".join(pair[0] for pair in octets).encode()]
                shown += ["".join(pair[1] for pair in octets).encode()]
    return b"\n".join(shown)
