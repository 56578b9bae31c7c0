"""Draws docs/pictures/pick.svg: the picker over the example skills, as a terminal shows it.

`python docs/picture.py`. Not checked against the program: another version of Textual draws other curves.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from pathlib import Path

from skillhub_mcp.cli.picker import Picker
from skillhub_mcp.cli.picker_skills import HubSkills
from skillhub_mcp.policy.files import change_choices
from skillhub_mcp.settings import read_settings

PROJECT = Path(__file__).parents[1]
PICTURE = PROJECT / "docs" / "pictures" / "pick.svg"


async def draw(directory: str) -> str:
    """Return the picture, with one skill switched off and one looked into."""
    os.chdir(PROJECT / "examples")
    choices = os.path.join(directory, "choices.json")
    settings, _ = read_settings(
        {}, {"SKILLS_DIR": "skills", "DB_PATH": os.path.join(directory, "db"), "SKILLHUB_CHOICES": choices}
    )
    change_choices(choices, lambda one: one.switched("log-triage", on=False))
    app = Picker(HubSkills(settings))
    async with app.run_test(size=(118, 24)) as pilot:
        while not app.settled:
            await pilot.pause(0.05)
        for _ in range(3):
            await pilot.press("down")
        await pilot.pause()
        # Without the fonts that it would fetch: looking at a picture asks nobody for anything.
        return re.sub(r"\s*@font-face \{.*?\}", "", app.export_screenshot(title="skillhub pick"), flags=re.DOTALL)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        PICTURE.write_text(asyncio.run(draw(made)), encoding="utf-8")
        print(f"wrote {PICTURE.relative_to(PROJECT)}")
