"""How is a skill put into a conversation the way of seed 004? `<skill-loaded>`, appended and never edited. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from skillhub_mcp.disclosure.sanitization import quoted

# The seed's own sentence, byte for byte: "Follow the instructions of the skill above."
FOLLOW = "上記のスキルの指示に従ってください。"

_ARGUMENTS = "$ARGUMENTS"
_MOST_FILES = 50


def skill_content(name: str, body: str) -> str:
    """Return `# Skill: name`, a blank line and the body."""
    return f"# Skill: {name}\n\n{body}"


def skill_loaded(name: str, body: str, *, files: Sequence[str] = (), where: str = "", rest: str = "") -> str:
    """Return what the tool `Skill` answers (seed 004, message injection).

    `files` are the skill's other files, which are named and not read; `where` says below what, or by which tool, they
    are found. `rest` says how the rest of a body in parts is had.
    """
    lines = [f"<skill-loaded name={quoted(name)}>", skill_content(name, body).rstrip("\n")]
    if files:
        more = f", and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
        lines += ["", f"Files of this skill ({where}): {', '.join(files[:_MOST_FILES])}{more}"]
    if rest:
        lines += ["", f"({rest})"]
    return "\n".join([*lines, "</skill-loaded>", "", FOLLOW])


def with_arguments(body: str, arguments: str) -> tuple[str, str]:
    """Return the body with what a person typed behind `/name` where it asks for it, and what is left to append."""
    if _ARGUMENTS in body:
        return body.replace(_ARGUMENTS, arguments), ""
    return body, f"\n\nARGUMENTS: {arguments}" if arguments else ""
