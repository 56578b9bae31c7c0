"""Render the `<skill-loaded>` message of the Skill tool and the prompts."""

from __future__ import annotations

from collections.abc import Sequence

from skillhub_mcp.sanitize import contained, in_attribute, path_for_model

# The Japanese sentence is the one that some hosts match byte for byte.
FOLLOW: dict[str, str] = {
    "en": "Follow the instructions of the skill above.",
    "ja": "上記のスキルの指示に従ってください。",
}

_ARGUMENTS = "$ARGUMENTS"
_MAX_FILES = 50


def render_skill_loaded(
    name: str,
    body: str,
    *,
    files: Sequence[str] = (),
    directory: str = "",
    rest: str = "",
    closing: str = FOLLOW["en"],
) -> str:
    """Return the message with a skill's body and files, its tags escaped, how to continue, and the `closing`."""
    lines = [f"<skill-loaded name={in_attribute(name)}>", contained(f"# Skill: {name}\n\n{body}").rstrip("\n")]
    if files:
        more = f", and {len(files) - _MAX_FILES:,} more" if len(files) > _MAX_FILES else ""
        listed = ", ".join(map(path_for_model, files[:_MAX_FILES]))
        where = f"below {path_for_model(directory)}" if directory else "read one with read_skill_file"
        lines += ["", f"Files of this skill ({where}): {listed}{more}"]
    if rest:
        lines += ["", f"({rest})"]
    return "\n".join([*lines, "</skill-loaded>", "", closing])


def substitute_arguments(body: str, arguments: str) -> tuple[str, str]:
    """Return the body with `$ARGUMENTS` replaced, and the text to append if it has no such placeholder."""
    if _ARGUMENTS in body:
        return body.replace(_ARGUMENTS, arguments), ""
    return body, f"\n\nARGUMENTS: {arguments}" if arguments else ""
