"""A library in which every payload of `payloads.json` is in every place that holds text of a skill."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

FORGED = "FORGED"
"""What only a payload says, at the start of a line of its own."""

_HERE = Path(__file__).parent
_MOST_IN_A_NAME = 120


@dataclass(frozen=True, slots=True)
class Payload:
    """A hostile text, and why it is one; or one that is `kept`, because people write so."""

    id: str
    why: str
    text: str
    kept: bool = False

    @property
    def word(self) -> str:
        """A word that only this payload's skill has."""
        return "zq" + re.sub("[^a-z0-9]", "", self.id) + "word"

    @property
    def in_a_body(self) -> str:
        """The same text where a body has it: there its lines are lines."""
        return (
            _halves_replaced(self.text)
            .replace("\0", "")
            .replace(FORGED, "stated")
            .replace("Human:", "Person:")
            .replace("Assistant:", "Other:")
        )


PAYLOADS = tuple(Payload(**one) for one in json.loads((_HERE / "payloads.json").read_text(encoding="utf-8")))


def plant(root: Path, project: Path) -> None:
    """Write the skills: for each payload one at `root`, one that is refused there, and one in the project.

    Names of the specification's form are only the project's, whose tools take no others.
    """
    for payload in PAYLOADS:
        _write(root / _file_name(payload, "served"), _header(payload, f"{payload.word} {payload.text}"), payload)
        _write(root / _file_name(payload, "refused"), _refused(payload), payload)
        own = f"project-{payload.word}"
        _write(project / ".agents" / "skills" / own, _header(payload, own), payload)
    broken = project / ".agents" / "skills" / "broken"
    broken.mkdir()
    (broken / "SKILL.md").write_bytes(b"---\nname: broken\n---\n")
    for payload in PAYLOADS[::20]:
        below = project / _file_name(payload, "sub")
        below.mkdir(parents=True)
        (below / "AGENTS.md").write_bytes(_bytes(f"# Rules\n\n{payload.in_a_body}\n"))
    texts = "\n".join(payload.in_a_body for payload in PAYLOADS if len(payload.text) < 500)
    (project / "AGENTS.md").write_bytes(_bytes(f"# Rules\n\n{texts}\n"))


def _write(directory: Path, header: str, payload: Payload) -> None:
    directory.mkdir(parents=True)
    body = f"# How\n\nBefore {payload.in_a_body} after.\n"
    (directory / "SKILL.md").write_bytes(_bytes(f"---\n{header}---\n{body}"))
    files = directory / "references"
    files.mkdir()
    (files / f"{_file_name(payload, 'file')}.md").write_bytes(_bytes(f"{payload.in_a_body}\n"))


def _header(payload: Payload, name: str) -> str:
    text = payload.text[:2_000]
    fields = {
        "name": name[:200],
        "description": f"Does {payload.word}. {payload.text} Use when {payload.word} is wanted.",
        "license": text,
        "compatibility": text[:400],
        "allowed-tools": [f"Bash({text[:100]}:*)"],
        "version": text,
        "author": text,
        "argument-hint": text,
        "metadata": {
            "skillhub.category": f"c {text[:100]}",
            "skillhub.tags": f"t {text[:100]}, other",
            text[:100]: text,
        },
    }
    return "".join(f"{key}: {_yaml(value)}\n" for key, value in fields.items())


def _refused(payload: Payload) -> str:
    """A frontmatter without a description, and with a key whose name an error tells."""
    text = payload.text[:100]
    return f"name: {_yaml(f'{payload.word}refused {text}')}\n{_yaml(f'k {text}')}: 1\ntags: {_yaml([text])}\n"


def _yaml(value: object) -> str:
    """JSON is YAML, but for characters beyond the first plane; and YAML has no halves of a pair."""
    written = json.dumps(value, ensure_ascii=False)
    return "".join(char if " " <= char <= "~" else f"\\U{ord(char):08x}" for char in _halves_replaced(written))


def _halves_replaced(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


def _file_name(payload: Payload, kind: str) -> str:
    """A name that a file can have, with the payload's text as far as that goes."""
    text = payload.text.replace("\0", "").replace("/", "\u2215")[:_MOST_IN_A_NAME]
    if "\udcff" in text and kind == "refused":
        # A byte that is no UTF-8: a skill in such a directory is not served.
        return f"{kind} {payload.word} {text}"
    return _halves_replaced(f"{kind} {payload.word} {text}").encode()[:200].decode("utf-8", "ignore")


def _bytes(text: str) -> bytes:
    return _halves_replaced(text).replace("\0", "").encode()


def folders_with_rules() -> list[str]:
    """The folders of the project that have an AGENTS.md."""
    return [_file_name(payload, "sub") for payload in PAYLOADS[::20]]
