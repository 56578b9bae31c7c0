"""Frontmatter keys: their owners and reports."""

from __future__ import annotations

import pytest

from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.skills.repairs import DESCRIPTIVE_KEYS, EXTENSIONS, READ_IN_BOTH_PLACES, meant_key
from skillhub_mcp.skills.rules import RULES


def diagnosed(key: str) -> tuple[str, str]:
    """The rule and the message for a top-level key."""
    content = f"---\nname: one\ndescription: Use when due.\n{key}: true\n---\n".encode()
    read = parse_skill(content, directory="/one", directory_name="one")
    (only,) = read.diagnostics
    return only.rule, only.message


@pytest.mark.parametrize("key", EXTENSIONS)
def test_a_host_key_is_reported_with_its_readers_and_stays(key: str) -> None:
    rule, message = diagnosed(key)
    assert message.startswith(f"{key!r} is not in the specification; read by Claude Code")
    assert all(reader in message for reader in EXTENSIONS[key])
    assert "move" not in f"{message} {RULES[rule].fix}"


@pytest.mark.parametrize("key", sorted(DESCRIPTIVE_KEYS))
def test_a_descriptive_key_should_be_moved_to_metadata(key: str) -> None:
    rule, message = diagnosed(key)
    assert rule == "key-unknown"
    assert message.endswith("SkillHub reads it under metadata too") == (key in READ_IN_BOTH_PLACES)
    assert RULES[rule].fix.startswith("move it under metadata")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("disable_model_invocation", "disable-model-invocation"),
        ("user-invokable", "user-invocable"),
        ("allowedTools", "allowed-tools"),
        ("Description", "description"),
        ("descripton", "description"),
        ("licence", "license"),
        ("when-to-use", "when_to_use"),
    ],
)
def test_a_misspelt_key_gets_a_suggestion(written: str, meant: str) -> None:
    assert meant_key(written) == meant
    assert diagnosed(written) == ("key-misspelt", f"{written!r} is not a known key; did you mean {meant!r}?")


@pytest.mark.parametrize("key", ["models", "tools", "agents", "capabilities", "languages", "package", "input", "mcp"])
def test_a_key_of_another_host_is_not_taken_for_a_typo(key: str) -> None:
    assert meant_key(key) is None
    assert diagnosed(key) == ("key-unknown", f"{key!r} is not a specified key")
