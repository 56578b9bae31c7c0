"""Names and their aliases."""

from __future__ import annotations

import pytest

from skillhub_mcp.skills.model import FileStamp, Skill
from skillhub_mcp.skills.names import is_specified_name, safe_alias


@pytest.mark.parametrize("name", ["a", "pdf-2", "データ", "0", "a" * 64, "привет-мир"])
def test_a_valid_name_is_its_own_alias(name: str) -> None:
    assert is_specified_name(name)
    assert safe_alias(name) == name


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a--b", "a b", "a.b", "a" * 65, "e\u0301", "🧪"])
def test_an_invalid_name_is_reported(name: str) -> None:
    assert not is_specified_name(name)


def test_only_name_description_tags_and_category_are_searched() -> None:
    skill = Skill(
        name="n",
        description="d",
        directory="/secret/place",
        root="/secret",
        category="c",
        tags=("t", "u"),
        always_apply=False,
        allowed_tools=("Tool",),
        license="L",
        compatibility="Comp",
        metadata={"k": "v"},
        diagnostics=(),
        stamp=FileStamp(0, 0, "", 0),
    )
    assert skill.searchable_text == "n\nd\nt u\nc"
