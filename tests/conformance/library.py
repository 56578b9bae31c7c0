"""A library of skills as found in the wild, for conformance: valid ones, broken ones, and two with one name."""

from __future__ import annotations

import os
from pathlib import Path

# More than fit on a page of results.
_PLAIN = 110

FIRST = "a-first-skill"
FIRST_BODY = "# How\n\nRead references/deep/one.md.\n"
FIRST_SKILL = (
    f"---\nname: {FIRST}\ndescription: Sets type by hand. Use when a page is to be set.\nlicense: MIT\n"
    f'metadata:\n  skillhub.tags: "type"\n  version: "1.10"\n---\n{FIRST_BODY}'
)
TWIN = "twin"
COUNT = _PLAIN + 9

_EVERY_BYTE = bytes(range(256))


def write_library(root: Path) -> dict[str, str]:
    """Write the library below `root` and return the environment of a server that serves it."""
    hub, home = root / "hub", root / "home"
    _skill(
        hub / FIRST,
        FIRST_SKILL,
        {
            "references/deep/one.md": b"One.\n",
            "references/two.md": "Zwei: ä, 二.\n".encode(),
            "scripts/run.py": b"print('run')\n",
            "assets/logo.png": b"\x89PNG\r\n\x1a\n" + _EVERY_BYTE,
            "empty.txt": b"",
            # Not for clients: the manifest must omit it, and list every other file.
            ".env": b"SECRET=1\n",
        },
    )
    _skill(hub / "wild-name", "---\nname: Wild Name! (v2)\ndescription: Has a wild name.\n---\nBody.\n")
    _skill(
        hub / "nested-metadata",
        "---\nname: nested-metadata\ndescription: Nests its metadata.\nmetadata:\n"
        "  skillhub:\n    category: deep\n    tags: [one, two]\n  count: 3\n  when: 2026-11-21\n---\nBody.\n",
    )
    _skill(
        hub / "listed-tools",
        "---\nname: listed-tools\ndescription: Lists its tools.\nallowed-tools:\n  - Read\n"
        "  - Bash(git *)\n---\nBody.\n",
    )
    _skill(
        hub / "typed-values",
        "---\nname: typed-values\ndescription: Has values that parsers read differently.\nversion: 1.10\n"
        "when: 2026-11-21\non: yes\nmode: 017\nnone: ~\nhuge: 12345678901234567890\nfolded: >-\n"
        "  two\n  lines\n---\nBody.\n",
    )
    _skill(
        hub / "colon-in-text",
        f"---\nname: colon-in-text\ndescription: Use when: a colon is there. {'Long. ' * 300}\n---\nBody.\n",
    )
    _skill(
        hub / "windows-made",
        "\ufeff---\r\nname: windows-made\r\ndescription: Has a BOM and CRLF.\r\n---\r\n# Body\r\n\r\nText.\r\n",
        {
            "data/every byte.bin": _EVERY_BYTE,
            "docs/Übersicht 概要.md": "Ümläute und 概要.\r\n".encode(),
            "docs/100% #1?.txt": b"Signs that mean something in a URI.\n",
            "docs/utf-16.txt": "Not UTF-8.".encode("utf-16"),
        },
    )
    _skill(hub / TWIN, f"---\nname: {TWIN}\ndescription: The hub's twin.\n---\nI am the hub's.\n")
    _skill(
        home / ".agents" / "skills" / TWIN,
        f"---\nname: {TWIN}\ndescription: The user's twin.\n---\nI am the user's.\n",
    )
    for number in range(_PLAIN):
        name = f"plain-{number:03}"
        _skill(hub / name, f"---\nname: {name}\ndescription: Plain skill number {number}.\n---\nBody {number}.\n")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "SKILLS_DIR": str(hub),
        "SKILLHUB_ROOTS": "user,hub",
        "DB_PATH": str(root / "db" / "skills.lancedb"),
        "EMBEDDING_PROVIDER": "none",
        "PYTHONWARNDEFAULTENCODING": "1",
    }


def _skill(directory: Path, text: str, files: dict[str, bytes] | None = None) -> None:
    for path, content in {"SKILL.md": text.encode(), **(files or {})}.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
