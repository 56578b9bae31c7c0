"""`skillhub call`: any MCP tool of any set, in this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "repo"
    (root / "a" / "b").mkdir(parents=True)
    (root / ".git").mkdir()
    for directory, text in (("", "Root rules."), ("a", "More rules."), ("a/b", "Deep rules.")):
        (root / directory / "AGENTS.md").write_text(f"{text}\n", encoding="utf-8")
    return root


def test_the_tools_of_every_set_are_listed(skillhub: Skillhub) -> None:
    done = skillhub("call")
    assert (done.code, done.err) == (0, "")
    names = {line.split()[0] for line in done.out.splitlines()}
    assert {"search_skills", "build_index", "agents_context", "skill_load", "Skill"} <= names
    assert {tool["name"] for tool in skillhub("call", "--json").json["tools"]} == names


def test_arguments_are_read_as_the_tool_expects_them(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("painter", "Paints walls.", files={"a.txt": "A"})
    write_skill("paint-mixer", "Mixes paint for walls.")
    (hit,) = skillhub("call", "search_skills", "query=paint walls", "limit=1").json["skills"]
    assert hit["name"] in ("painter", "paint-mixer")
    read = skillhub("call", "read_skill_file", "skill_name=painter", "file_path=a.txt").json
    assert read["content"] == "A"
    failed = skillhub("call", "load_skill", "skill_name=nothing-like-it")
    assert (failed.code, failed.json.startswith("SKILL_NOT_FOUND")) == (1, True)


@pytest.mark.parametrize("typed", [["nope"], ["load_skill", "name=x"], ["load_skill", "x"]])
def test_an_unknown_tool_or_argument_names_those_that_exist(skillhub: Skillhub, typed: list[str]) -> None:
    done = skillhub("call", *typed)
    assert (done.code, done.out) == (2, "")
    assert "skill_name" in done.err or "search_skills" in done.err


@pytest.mark.acceptance("S1-5", "S1-8", "S1-9", "S1-10", "S1-11")
def test_the_chain_of_agents_md_is_that_of_the_environment(skillhub: Skillhub, repo: Path) -> None:
    def text(**environment: str) -> str:
        done = skillhub("call", "agents_context", "--cwd", repo / "a" / "b", **environment)
        return str(done.json["text"] if isinstance(done.json, dict) else done.json)

    whole = text()
    assert whole.index("Root rules.") < whole.index("More rules.") < whole.index("Deep rules.")
    assert "Root rules." not in text(CODELIA_AGENTS_ROOT=str(repo / "a"))
    assert "More rules." not in text(CODELIA_AGENTS_MARKERS=" .hg , none")
    assert "Root rules." in text(CODELIA_SANDBOX_ROOT=str(repo / "a"))


@pytest.mark.acceptance("S0-8", "S0-9", "S0-16", "S0-75")
def test_the_projects_and_the_users_skills_are_listed_with_their_errors(
    skillhub: Skillhub, repo: Path, write_skill: SkillWriter
) -> None:
    write_skill("at-root", root=repo / ".agents" / "skills")
    write_skill("at-cwd", root=repo / "a" / ".agents" / "skills")
    write_skill("at-home", root=Path(os.environ["HOME"], ".agents", "skills"))
    broken = write_skill("broken", root=repo / ".agents" / "skills", frontmatter="name: broken")
    listed = skillhub("call", "skills_list", "--cwd", repo / "a").json
    scopes = {one["name"]: one["scope"] for one in listed["skills"]}
    assert scopes == {"at-root": "repo", "at-cwd": "repo", "at-home": "user"}
    assert [one["path"] for one in listed["errors"]] == [f"{broken}/SKILL.md"]


@pytest.mark.acceptance("S3-25", "S3-28", "S3-37")
def test_the_registry_is_printed_as_json_with_a_digest_that_follows_the_skills(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("one")
    built = skillhub("call", "build_index").json
    assert [one["name"] for one in built["skills"]] == ["one"]
    assert skillhub("call", "build_index").json["report"]["digest"] == built["report"]["digest"]
    write_skill("two")
    again = skillhub("call", "refresh_index").json
    assert [one["name"] for one in again["skills"]] == ["one", "two"]
    assert again["report"]["digest"] != built["report"]["digest"]
