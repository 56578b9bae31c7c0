"""Draws docs/pictures/pick.svg: the picker over the example skills, as a terminal shows it.

`python docs/picture.py`. Not checked against the program: another version of Textual draws other curves.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from skillhub_mcp.bootstrap import make_hub
from skillhub_mcp.cli.picker import Picker, PickerActions
from skillhub_mcp.cli.picker_rows import PickerRow, picker_rows
from skillhub_mcp.policy.files import change_choices
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.documents import read_document

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
    hub = make_hub(settings, background=False)

    def preview(row: PickerRow) -> str:
        return f"{row.name}\n\n{row.description}\n\n{read_document(hub.find(row.directory)).instructions}"

    def toggle(_: PickerRow, __: bool) -> Sequence[PickerRow]:
        return picker_rows(hub.listed())

    app = Picker(picker_rows(hub.listed()), PickerActions(preview, toggle))
    async with app.run_test(size=(118, 24)) as pilot:
        await pilot.press(*"csv")
        await pilot.press(*["backspace"] * 3)
        for _ in range(3):
            await pilot.press("down")
        await pilot.pause()
        # Without the fonts that it would fetch: looking at a picture asks nobody for anything.
        return re.sub(r"\s*@font-face \{.*?\}", "", app.export_screenshot(title="skillhub pick"), flags=re.DOTALL)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        PICTURE.write_text(asyncio.run(draw(made)), encoding="utf-8")
        print(f"wrote {PICTURE.relative_to(PROJECT)}")
