"""Draws docs/pictures/pick.svg: the picker over the example skills, as a terminal shows it.

`python docs/picture.py`. Not checked against the program: another version of Textual draws other curves.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import tempfile
from pathlib import Path

from skillhub_mcp.chosen_roots import choices_path
from skillhub_mcp.cli.picker import HubSkills, Picker
from skillhub_mcp.policy.files import change_choices
from skillhub_mcp.settings import read_settings

PROJECT = Path(__file__).parents[1]
PICTURE = PROJECT / "docs" / "pictures" / "pick.svg"
# The width of a character in Textual's pictures.
_CELL = 12.2


async def draw(directory: str) -> str:
    """Return the picture, with one skill switched off and one looked into."""
    os.chdir(PROJECT / "examples")
    os.environ["HOME"] = directory
    settings, _ = read_settings({}, {"SKILLS_DIR": "skills", "SKILLHUB_DB_PATH": os.path.join(directory, "db")})
    change_choices(choices_path(), lambda one: one.switched("log-triage", on=False))
    app = Picker(HubSkills(settings))
    async with app.run_test(size=(118, 24)) as pilot:
        await app.workers.wait_for_complete()
        for _ in range(3):
            await pilot.press("down")
        await pilot.pause()
        # Without the fonts that it would fetch: looking at a picture asks nobody for anything.
        drawn = re.sub(r"\s*@font-face \{.*?\}", "", app.export_screenshot(title="skillhub pick"), flags=re.DOTALL)
        return elsewhere(drawn, str(PROJECT / "examples" / "skills"), "/home/ann/.skillhub/skills")


def elsewhere(drawn: str, directory: str, shown: str) -> str:
    """Return a picture with another directory in place of this machine's, in texts that are as long as they say."""
    told = re.compile(rf'textLength="[\d.]+"(?P<clip> clip-path="[^"]+">){re.escape(directory)}(?P<rest>[^<]*)')

    def replaced(found: re.Match[str]) -> str:
        text = shown + found["rest"]
        return f'textLength="{round(_CELL * len(html.unescape(text)), 1)}"{found["clip"]}{text}'

    return told.sub(replaced, drawn)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        PICTURE.write_text(asyncio.run(draw(made)), encoding="utf-8")
        print(f"wrote {PICTURE.relative_to(PROJECT)}")
