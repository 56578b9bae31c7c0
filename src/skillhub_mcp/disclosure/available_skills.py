"""What does a model see of an index? Seed 003 §7's list: a name, a source and a description, one line for each."""

from __future__ import annotations

from collections.abc import Iterable

HEADER = "Available Skills:"


def available_skills(skills: Iterable[tuple[str, str, str]]) -> str:
    """Return the list of `(name, source, description)` in the order given.

    A value stays on its line and cannot pass for markup or for another field: blanks are folded, `<`, `>`, `&` and
    `|` are escaped.
    """
    lines = [
        f"- name={_plain(name)} | source={_plain(source)} | description={_plain(text)}" for name, source, text in skills
    ]
    return "\n".join([HEADER, *lines] if lines else [f"{HEADER} (none)"])


def _plain(text: str) -> str:
    folded = " ".join(text.split())
    for sign, escape in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "&#124;")):
        folded = folded.replace(sign, escape)
    return folded
