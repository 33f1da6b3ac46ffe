"""Draw the pictures of README and the documentation: ``python -m screenshots.make [NAME…]``.

Each scene is a list of keys, pressed in the app on the demo. ``screenshots.record`` draws the
moving picture.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from tempfile import gettempdir

from memsearch_engine import Memory
from memsearch_engine.service import launch
from textual.app import App
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from memsearch_tui.app import MemsearchApp
from memsearch_tui.aside import WorkingScreen
from memsearch_tui.demo.command import prepare
from memsearch_tui.library import Library
from memsearch_tui.screens.browse.screen import BrowseScreen

HERE = Path(__file__).parent
END = date(2026, 11, 20)
SIZE = (120, 40)
SIZES = {"wide": (200, 60), "narrow": (80, 24), "narrow-light": (80, 24)}
#: name -> (theme, keys)
SCENES = {
    "browse": ("memsearch-dark", ["home", *["down"] * 7]),
    "wide": ("memsearch-dark", ["home", *["down"] * 7]),
    "narrow": ("memsearch-dark", ["home", *["down"] * 7]),
    "browse-light": ("memsearch-light", ["home", *["down"] * 7]),
    "narrow-light": ("memsearch-light", ["home", *["down"] * 7]),
    "search": ("memsearch-dark", ["slash", *"why was the cache ttl raised"]),
    "conversation": (
        "memsearch-dark",
        ["slash", *"OOMKilled pods agent:claude", "enter", "enter"],
    ),
    "edit": ("memsearch-dark", ["home", *["down"] * 7, "e"]),
    "help": ("memsearch-light", ["question_mark"]),
    "projects": ("memsearch-dark", ["f2"]),
    "activity": ("memsearch-dark", ["f4"]),
    "review": ("memsearch-light", ["f5"]),
    "conflict": ("memsearch-dark", ["f5", "wait", "down", "down", "down"]),
    "shared": ("memsearch-dark", ["slash", *"sandbox by:mara"]),
    "health": ("memsearch-light", ["f3"]),
}


async def scene(library: Library, name: str, theme: str, keys: list[str]) -> None:
    library.today = lambda: END.isoformat()  # type: ignore[method-assign]
    app = MemsearchApp(library, theme=theme, live=False)
    async with app.run_test(size=SIZES.get(name, SIZE)) as pilot:
        for key in keys:
            if key == "wait":  # until what the next keys walk through is there
                await settle(app, pilot)
                continue
            await pilot.press({" ": "space", ":": "colon"}.get(key, key))
            if key == "slash":
                await pilot.pause()
        await settle(app, pilot)
        app.screen.query("Toast").remove()
        await pilot.pause()
        app.save_screenshot(str(HERE / f"{name}.svg"))


async def settle(app: App[None], pilot: Pilot[None]) -> None:
    """Wait until the app has nothing more to do and the service answers."""
    while list(app.workers):
        with contextlib.suppress(WorkerCancelled):  # a later key's work has taken its place
            await app.workers.wait_for_complete(
                [w for w in app.workers if not w.is_cancelled and not w.is_finished]
            )
        await pilot.pause()
    while isinstance(app.screen, WorkingScreen) or (
        isinstance(app.screen, BrowseScreen) and not app.screen.state.standing.served
    ):
        await pilot.pause(0.05)
    while list(app.workers):  # what the page reads once it is shown
        await app.workers.wait_for_complete()
        await pilot.pause()


@contextlib.contextmanager
def demo() -> Iterator[Memory]:
    """Write and index the demo, yield its memory, and remove it."""
    # the same folder every time, because the pictures show its path
    folder = Path(gettempdir()) / "memsearch-pictures"
    shutil.rmtree(folder, ignore_errors=True)
    home, project = prepare(folder, end=END)
    os.chdir(project)
    memory = Memory(str(project), home=home)
    try:
        memory.index()
        yield memory
    finally:
        launch.stop(home)
        os.chdir(HERE)
        shutil.rmtree(folder)


def main() -> None:
    """Write ``screenshots/NAME.svg`` of the scenes named as arguments, by default of all."""
    names = sys.argv[1:] or list(SCENES)
    with demo() as memory:
        for name in names:
            theme, keys = SCENES[name]
            asyncio.run(scene(Library(memory), name, theme, keys))
            print(f"screenshots/{name}.svg")


if __name__ == "__main__":
    main()
