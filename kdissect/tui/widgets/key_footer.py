"""The keys at the bottom: the keys that fit into a narrow terminal, and the key that lists all of them."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

_BLANKS = 3  # around a key and after its description
# Actions that stay when other keys give way.
_KEPT = ("help", "quit", "leave")
_ALL = "All keys"


class KeyFooter(Footer):
    """Textual's, in which no key is cut."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)
        self._width = 0

    def compose(self) -> ComposeResult:
        """Make the keys that fit. If some are left out, the help key is named for them."""
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        shown = self._fitting(keys)
        for key in shown:
            if key.action == "help" and len(shown) < len(keys):
                key.description = _ALL
        yield from shown

    def _fitting(self, keys: list[FooterKey]) -> list[FooterKey]:
        self._width = self.app.size.width
        shown = list(keys)
        while sum(map(_cells, shown)) > self._width:
            others = [key for key in shown if key.action not in _KEPT]
            if not others:
                break
            shown.remove(others[-1])
        return shown

    async def on_resize(self, event: events.Resize) -> None:
        """Choose again in another width."""
        if self._width and self.app.size.width != self._width:
            await self.recompose()


def _cells(key: FooterKey) -> int:
    what = _ALL if key.action == "help" else key.description
    return len(key.key_display) + len(what) + _BLANKS
