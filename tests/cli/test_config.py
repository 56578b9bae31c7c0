"""`skillhub config`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub

from skillhub_mcp.settings import GROUPS, SETTINGS


def test_every_setting_is_shown_with_its_value_origin_default_and_meaning(skillhub: Skillhub) -> None:
    rows = skillhub("config", "--json", "--cwd", "/", SEARCH_LIMIT="7", GOOGLE_API_KEY="k").json["settings"]
    assert [row["name"] for row in rows] == [setting.name for setting in SETTINGS]
    by_name = {row["name"]: row for row in rows}
    meaning = by_name["SEARCH_LIMIT"].pop("meaning")
    assert meaning
    assert by_name["SEARCH_LIMIT"] == {
        "name": "SEARCH_LIMIT",
        "value": "7",
        "from": "environment (SEARCH_LIMIT)",
        "default": "10",
        "problem": None,
    }
    assert by_name["SKILLHUB_CWD"]["from"] == "option"
    assert by_name["GEMINI_API_KEY"]["from"] == "environment (GOOGLE_API_KEY)"
    assert by_name["SEARCH_THRESHOLD"]["from"] == "default"


def test_the_text_has_two_lines_per_setting_below_the_title_of_its_group(skillhub: Skillhub) -> None:
    lines = skillhub("config", SEARCH_LIMIT="7").out.splitlines()
    assert len(lines) == 2 * len(SETTINGS) + 2 * len(GROUPS) - 1
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles == list(GROUPS)
    search = lines[lines.index("Search") + 1 : lines.index("Embeddings") - 1]
    assert len(search) == 2 * len(GROUPS["Search"])
    assert "  SEARCH_LIMIT=7   (environment (SEARCH_LIMIT); default: 10)" in lines
    assert "  EMBEDDING_MODEL=   (default: empty)" in lines


def test_no_secret_is_shown(skillhub: Skillhub) -> None:
    secrets = {
        "OPENAI_API_KEY": "sk-very-secret",
        "GEMINI_API_KEY": "g-very-secret",
        "EMBEDDING_BASE_URL": "https://me:very-secret@proxy.example/v1?key=very-secret",
    }
    for arguments in (["config"], ["config", "--json"]):
        done = skillhub(*arguments, **secrets)
        assert done.code == 0
        assert "very-secret" not in done.out + done.err
        assert "https://proxy.example/v1?***" in done.out


def test_a_bad_value_is_named_and_nothing_else_is_printed(skillhub: Skillhub) -> None:
    done = skillhub("config", SEARCH_LIMIT="abc")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: SEARCH_LIMIT='abc' must be a whole number from 1 to 100\n"
    as_json = skillhub("config", "--json", SEARCH_LIMIT="abc").error
    assert (as_json["code"], as_json["setting"], as_json["value"]) == ("INVALID_SETTING", "SEARCH_LIMIT", "abc")


@pytest.mark.acceptance("S0-74")
def test_a_bad_value_of_a_forgiving_setting_is_shown_beside_the_default(skillhub: Skillhub) -> None:
    bad = {"SKILLHUB_CATALOGUE_MAX_BYTES": "0"}
    says = "SKILLHUB_CATALOGUE_MAX_BYTES='0' must be a whole number from 1 to 67108864"
    rows = {row["name"]: row for row in skillhub("config", "--json", **bad).json["settings"]}
    assert rows["SKILLHUB_CATALOGUE_MAX_BYTES"]["value"] == "32768"
    assert rows["SKILLHUB_CATALOGUE_MAX_BYTES"]["problem"] == says
    assert f"      not used: {says}\n" in skillhub("config", **bad).out


def test_an_unknown_variable_is_named_without_its_value(skillhub: Skillhub) -> None:
    misspelt = {"SKILLHUB_TOKENS": "secret", "SKILLHUB_TOOLS": "core"}
    assert skillhub("config", **misspelt).err.startswith(
        "SKILLHUB_TOKENS is not a setting and has no effect: did you mean"
    )
    done = skillhub("config", "--json", **misspelt)
    assert [one["name"] for one in done.json["unknown"]] == ["SKILLHUB_TOKENS"]
    assert "secret" not in done.out + done.err
    assert skillhub("config", "--json").json["unknown"] == []


def test_config_set_writes_a_setting_that_config_shows_with_its_file(skillhub: Skillhub) -> None:
    path = Path(os.environ["HOME"], ".config/skillhub/settings.toml")
    tried = skillhub("config", "set", "SEARCH_LIMIT", "7", "--dry-run", "--json").json
    assert (tried, path.exists()) == ({"dry_run": True, "name": "SEARCH_LIMIT", "value": "7", "path": None}, False)
    done = skillhub("config", "set", "SEARCH_LIMIT", "7", "--yes")
    assert (done.code, done.err) == (0, f"SEARCH_LIMIT is set in {path}\n")
    path.write_text(f"# mine\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert f"  SEARCH_LIMIT=7   (settings file ({path}); default: 10)" in skillhub("config").out
    skillhub("config", "set", "SKILLHUB_STRICT", "1")
    removed = skillhub("config", "set", "SEARCH_LIMIT", SEARCH_LIMIT="3")
    assert removed.err.splitlines() == [
        f"SEARCH_LIMIT is removed from {path}",
        "SEARCH_LIMIT is set in the environment, which overrides the file",
    ]
    assert path.read_text(encoding="utf-8") == '# mine\nSKILLHUB_STRICT = "1"\n'


def test_config_set_refuses_a_bad_value_and_an_unknown_name_and_writes_nothing(skillhub: Skillhub) -> None:
    assert skillhub("config", "set", "SEARCH_LIMIT", "700").code == 2
    unknown = skillhub("config", "set", "SEARCH_LIMTI", "7")
    assert (unknown.code, unknown.err.splitlines()[-1]) == (2, "hint: did you mean SEARCH_LIMIT?")
    assert not Path(os.environ["HOME"], ".config/skillhub/settings.toml").exists()
