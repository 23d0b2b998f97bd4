"""Makes the pictures of the README and of docs/tui.md: `python -m benchmarks.screens.pictures docs/images`.

SVG as Textual draws it, without the fonts it would load from elsewhere and without the window around it.
"""

import asyncio
import re
import sys
from pathlib import Path

from kdissect.tui.app import KdissectApp
from kdissect.tui.processes.worker_messages import Order
from kdissect.tui.session import Session
from kdissect.tui.views.tables import TablesView

SIZE = (120, 30)
CAPTURE = "captures/kafka44_java_transactions.pcapng"
GROUPS = "captures/kafka44_java_groups.pcapng"
REJOINS = "captures/kafka44_java_rejoins.pcapng"
# Name -> capture, then the keys; a number waits for so many seconds.
PICTURES: dict[str, tuple[str, tuple[str | float, ...]]] = {
    "tui-bytes": (CAPTURE, ("6", 4.0, *("down",) * 8, 1.0, "enter", 3.0)),
    "tui-follow": (CAPTURE, ("2", 4.0, *("down",) * 8, "enter", 3.0, "n", "n", 1.0)),
    "tui-groups": (GROUPS, ("4", 4.0)),
    "tui-why": (REJOINS, ("0", 4.0)),
    "tui-statistics": (CAPTURE, ("8", 4.0, "down", "down", 1.0)),
}
_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_FONT = re.compile(r"font-family: Fira Code[^;]*;")


async def picture(capture: str, keys: tuple[str | float, ...]) -> str:
    """Return one screen as SVG."""
    session = Session(Order((capture,)))
    session.start()
    app = KdissectApp(session)
    async with app.run_test(size=SIZE) as pilot:
        while session.is_loading or "findings" not in session.final:
            await pilot.pause(0.1)
        for key in keys:
            if isinstance(key, float):
                await pilot.pause(key)
            else:
                await pilot.press(key)
        view = app.view
        studies = {"causes", "findings", view.study if isinstance(view, TablesView) else ""} - {""}
        while not studies <= session.final:  # still counting, on a machine with other work
            await pilot.pause(0.1)
        await pilot.pause(0.5)
        return plain(app.export_screenshot(title=f"kdissect tui {capture}"))


def plain(svg: str) -> str:
    """Return a picture without fonts from elsewhere, which loads nothing."""
    return _FONT.sub("font-family: monospace;", _FACE.sub("", svg))


async def main(folder: Path) -> None:
    """Make all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (capture, keys) in PICTURES.items():
        (folder / f"{name}.svg").write_text(await picture(capture, keys))
        print(folder / f"{name}.svg")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
