"""The `<skill-loaded>` message, byte for byte."""

from __future__ import annotations

import pytest
from tests.seeds import seeds_example

from skillhub_mcp.disclosure.skill_loaded import FOLLOW, render_skill_loaded, substitute_arguments

# The specification's example.
BODY = "# PDF処理スキル\n\n## PDFの読み込み\n高速抽出にはpdftotext使用：\npdftotext input.pdf -\n"
MESSAGE = seeds_example("skill-loaded")


@pytest.mark.acceptance("S4-9", "S4-15")
def test_the_message_has_the_specified_form() -> None:
    assert render_skill_loaded("pdf", BODY, closing=FOLLOW["ja"]) == MESSAGE
    assert render_skill_loaded("pdf", BODY).endswith("</skill-loaded>\n\nFollow the instructions of the skill above.")


@pytest.mark.acceptance("S4-4")
def test_files_are_listed_up_to_a_limit() -> None:
    text = render_skill_loaded("pdf", BODY, files=[f"f{number}" for number in range(60)], directory="/s/pdf")
    assert "\n\nFiles of this skill (below /s/pdf): f0, f1, " in text
    assert ", f49, and 10 more\n</skill-loaded>" in text


def test_a_part_explains_how_to_continue() -> None:
    assert "\n\n(part 1 of 2; go on with part=2)\n</skill-loaded>" in render_skill_loaded(
        "pdf", BODY, rest="part 1 of 2; go on with part=2"
    )


def test_names_are_escaped_in_the_attribute() -> None:
    assert render_skill_loaded('a"><b', "x").startswith('<skill-loaded name="a&quot;&gt;&lt;b">')


@pytest.mark.acceptance("S4-11")
def test_arguments_replace_the_placeholder_or_are_appended() -> None:
    assert substitute_arguments("Fix $ARGUMENTS now", "12") == ("Fix 12 now", "")
    assert substitute_arguments("Fix $ARGUMENTS now", "") == ("Fix  now", "")
    assert substitute_arguments("Fix it", "12") == ("Fix it", "\n\nARGUMENTS: 12")
    assert substitute_arguments("Fix it", "") == ("Fix it", "")
