"""What an index that lives long holds on the disk."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.index import store
from skillhub_mcp.settings import read_settings

# A thousand changes at one a second would take too long: all times are shortened alike.
_SECOND = 0.1


def growth(environment: Mapping[str, str], changes: int) -> tuple[int, list[int]]:
    """Change one skill after the other, and return the bytes of the new index, those after each change, and at rest.

    At rest, half a minute and a minute after the last change, the index is tidied as an idle server does it.
    """
    store.KEPT_SECONDS *= _SECOND
    database = Path(environment["DB_PATH"]).parent
    files = sorted(Path(environment["SKILLS_DIR"]).rglob("SKILL.md"))
    settings, _ = read_settings(environment)
    hub = make_hub(settings, background=False)
    hub.refresh()
    fresh, sizes = _bytes(database), []
    try:
        for number in range(changes):
            due = time.monotonic() + _SECOND
            file = files[number * 37 % len(files)]
            file.write_text(f"{file.read_text(encoding='utf-8')}\nChange {number}.\n", encoding="utf-8")
            view = hub.refresh(only=[str(file)])
            if view.problem is not None:
                raise view.problem
            sizes.append(_bytes(database))
            time.sleep(max(0.0, due - time.monotonic()))
        for _ in range(2):
            time.sleep(store.KEPT_SECONDS + _SECOND)
            hub.refresh()
        sizes.append(_bytes(database))
    finally:
        hub.close()
    return fresh, sizes


def _bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
