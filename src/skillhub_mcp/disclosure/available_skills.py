"""The registry's "Available Skills" list: one line for each skill with its name, source and description. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from skillhub_mcp.harmless import in_element, visible

HEADER = "Available Skills:"


def render_available_skills(skills: Iterable[tuple[str, str, str]]) -> str:
    """Return the list of `(name, source, description)` in the order given.

    A value stays on one line, hides nothing, and cannot imitate markup or another field: white space is collapsed, and
    `<`, `>`, `&` and `|` are escaped.
    """
    lines = [
        f"- name={_escaped(name)} | source={_escaped(source)} | description={_escaped(text)}"
        for name, source, text in skills
    ]
    return "\n".join([HEADER, *lines] if lines else [f"{HEADER} (none)"])


def _escaped(text: str) -> str:
    return in_element(visible(text)).replace("|", "&#124;")
