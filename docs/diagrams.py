"""Draws three of docs/pictures: where skills come from, what one task costs an agent, and the layers of the program.

`python docs/diagrams.py`, and with `--check` names a picture that differs, and fails. The pictures are readable on
light and on dark pages: a browser tells an SVG which its reader prefers. They need no font that would be fetched.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

PICTURES = Path(__file__).parent / "pictures"

_STYLE = """\
text { font: 14px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2933; }
.code { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.title { font-weight: 600; }
.quiet { fill: #52606d; font-size: 12.5px; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.page { fill: #ffffff; stroke: #d5dbe1; }
.box { fill: #f4f6f8; stroke: #9aa5b1; }
.main { fill: #e3f0fb; stroke: #3b82c4; }
.gate { fill: #fdf3dc; stroke: #c08a1e; }
.asked { stroke-dasharray: 5 4; }
.line { fill: none; stroke: #52606d; stroke-width: 1.5; }
.tip { fill: #52606d; }
@media (prefers-color-scheme: dark) {
text { fill: #e4e7eb; } .quiet { fill: #a9b4c0; } .page { fill: #161b22; stroke: #30363d; }
.box { fill: #21262d; stroke: #6b7682; } .main { fill: #14304a; stroke: #4f9bdc; }
.gate { fill: #3a2f14; stroke: #c99a35; }
.line { stroke: #a9b4c0; } .tip { fill: #a9b4c0; }
}"""

_TIP = """\
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>"""


def picture(width: int, height: int, told: str, parts: Iterator[str]) -> str:
    """Return a whole SVG; `told` is what it says, for readers who cannot see it."""
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(told)}</title>",
            f"<style>\n{_STYLE}\n</style>",
            _TIP,
            f'<rect class="page" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10"/>',
            *parts,
            "</svg>\n",
        )
    )


def box(x: int, y: int, width: int, height: int, kind: str) -> str:
    """Return a box."""
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="7"/>'


def words(x: int, y: int, text: str, kind: str = "") -> str:
    """Return one line of text."""
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(text)}</text>'


def arrow(path: str) -> str:
    """Return an arrow along the path of an SVG."""
    return f'<path class="line" d="{path}" marker-end="url(#tip)"/>'


def roots() -> str:
    """Return the picture of the places that are searched, and of what becomes of their skills."""
    return picture(
        860,
        386,
        "Skills of the project, of the person and of the hub, in this order, become one list in which an earlier place "
        "wins a name; places that were added come last. Filters, switches and rules decide what agents get of it.",
        _roots(),
    )


def _roots() -> Iterator[str]:
    places = (
        ("project", ".agents/skills", "here, and above to its root", "box"),
        ("user", "~/.agents/skills", "yours, in every project", "box"),
        ("hub", "~/.skillhub/skills", "or the directories of SKILLS_DIR", "box"),
        ("added", "~/.claude/skills, DIR …", "after skillhub roots add", "box asked"),
        ("builtin", "the examples", "after skillhub roots add builtin", "box asked"),
    )
    yield words(24, 34, "Places with skills, the first wins a name", "title")
    for number, (source, path, what, kind) in enumerate(places):
        y = 50 + 66 * number
        yield box(24, y, 330, 56, kind)
        yield words(40, y + 24, source, "title")
        yield words(110, y + 24, path, "code")
        yield words(110, y + 44, what, "quiet")
        yield arrow(f"M354 {y + 28}C400 {y + 28} 384 210 424 210")
    yield box(430, 160, 130, 100, "main")
    yield words(495, 192, "one list", "title middle")
    yield words(495, 216, "and an index that", "quiet middle")
    yield words(495, 236, "follows the files", "quiet middle")
    yield arrow("M560 210H590")
    yield box(596, 120, 110, 180, "gate")
    for line, (text, kind) in enumerate(
        (
            ("you decide", "title"),
            ("disable, pick", "quiet"),
            ("rules", "quiet"),
            ("filters", "quiet"),
            ("tokens", "quiet"),
        )
    ):
        yield words(651, 162 + 28 * line, text, f"{kind} middle")
    yield arrow("M706 210H736")
    yield box(742, 160, 96, 100, "main")
    yield words(790, 192, "agents", "title middle")
    yield words(790, 216, "over stdio", "quiet middle")
    yield words(790, 236, "or HTTP", "quiet middle")


def search() -> str:
    """Return the picture of one task: three calls, and what each costs."""
    return picture(
        860,
        322,
        "An agent with a task calls search_skills and gets names and scores, about 150 tokens; load_skill returns the "
        "instructions of the one that fits, about 1,080; read_skill_file the one file that they name, about 650.",
        _search(),
    )


def _search() -> Iterator[str]:
    steps = (
        (
            "1  search_skills",
            "“the invoice number of a PDF”",
            "finds words, in other languages too,",
            "corrects typos, knows synonyms",
            "names, with scores",
            "150 tokens",
        ),
        (
            "2  load_skill",
            "pdf-invoice-extractor",
            "asks your switches and rules, then",
            "reads the file itself, not the index",
            "one skill's instructions",
            "1,080 tokens",
        ),
        (
            "3  read_skill_file",
            "references/field-labels.md",
            "reads nothing that is outside of",
            "the skill's own folder",
            "the file they name",
            "650 tokens",
        ),
    )
    yield words(24, 34, "The agent asks", "title")
    yield words(352, 34, "SkillHub", "title")
    yield words(662, 34, "It reads", "title")
    for number, (call, argument, first, second, answer, cost) in enumerate(steps):
        y = 50 + 90 * number
        yield box(24, y, 280, 72, "main")
        yield words(40, y + 30, call, "code title")
        yield words(40, y + 54, argument, "quiet")
        yield arrow(f"M304 {y + 36}H346")
        yield box(352, y, 286, 72, "gate" if number == 1 else "box")
        yield words(368, y + 30, first, "quiet")
        yield words(368, y + 54, second, "quiet")
        yield arrow(f"M638 {y + 36}H656")
        yield box(662, y, 176, 72, "box")
        yield words(676, y + 30, answer, "quiet")
        yield words(676, y + 54, cost, "title")
        if number < len(steps) - 1:
            yield arrow(f"M750 {y + 72}V{y + 80}H164V{y + 88}")


def layers() -> str:
    """Return the picture of the layers that pyproject.toml sets, each of which may use those below it."""
    configured = (PICTURES.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(
        r'^containers = \["skillhub_mcp"\]\n.*?^layers = \[\n(.*?)^\]', configured, re.MULTILINE | re.DOTALL
    )
    if listed is None:
        raise ValueError("pyproject.toml has no layers")
    rows = re.findall(r'^ *"(.+)",$', listed[1], re.MULTILINE)
    told = "The layers, from the top; each uses only those below it: " + "; ".join(rows).replace(" | ", ", ")
    return picture(860, 36 * len(rows) + 42, told, _layers(rows))


def _layers(rows: Sequence[str]) -> Iterator[str]:
    for number, row in enumerate(rows):
        y = 20 + 36 * number
        kind = "main" if number < len(rows) / 3 else "box" if number < len(rows) * 2 / 3 else "gate"
        yield box(60, y, 776, 30, kind)
        yield words(448, y + 20, row.replace(" | ", "   "), "code middle")
    yield arrow(f"M34 22V{12 + 36 * len(rows)}")


DRAWN: dict[str, Callable[[], str]] = {"roots.svg": roots, "search.svg": search, "layers.svg": layers}


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the pictures, or with --check compare them. Return 1 if one differs."""
    parser = argparse.ArgumentParser(description="Draw the diagrams of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a picture differs")
    check = parser.parse_args(argv).check
    differs = False
    for name, draw in DRAWN.items():
        path, drawn = PICTURES / name, draw()
        if check and (path.read_text(encoding="utf-8") if path.is_file() else None) != drawn:
            print(f"docs/pictures/{name} differs: run python docs/diagrams.py", file=sys.stderr)
            differs = True
        elif not check:
            path.write_text(drawn, encoding="utf-8", newline="\n")
            print(f"wrote docs/pictures/{name}")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
