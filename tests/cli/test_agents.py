"""`skillhub agents`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "repo"
    (root / "a" / "b").mkdir(parents=True)
    (root / ".git").mkdir()
    for directory, text in (("", "Root rules."), ("a", "é" * 500), ("a/b", "Deep rules.")):
        (root / directory / "AGENTS.md").write_text(f"{text}\n", encoding="utf-8")
    return root


@pytest.mark.acceptance("S1-5", "S1-6", "S1-7", "S1-8", "S1-10", "S1-11")
def test_the_root_is_found_as_the_environment_has_it(skillhub: Skillhub, repo: Path) -> None:
    def files(**environment: str) -> list[str]:
        done = skillhub("agents", "context", "--cwd", repo / "a" / "b", "--json", **environment)
        return [os.path.relpath(file["path"], repo) for file in done.json["files"]]

    assert files() == ["AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.md"]
    assert files(CODELIA_AGENTS_ROOT=str(repo / "a")) == ["a/AGENTS.md", "a/b/AGENTS.md"]
    assert files(CODELIA_AGENTS_MARKERS=" .hg , none") == ["a/b/AGENTS.md"]
    (repo / "a" / ".hg").mkdir()
    assert files(CODELIA_AGENTS_MARKERS=" .hg , none") == ["a/AGENTS.md", "a/b/AGENTS.md"]
    assert files(CODELIA_SANDBOX_ROOT=str(repo / "a")) == ["AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.md"]
    config = json.dumps({"root": {"markers": [".hg"]}})
    assert files(SKILLHUB_AGENTS_CONFIG=config) == ["a/AGENTS.md", "a/b/AGENTS.md"]
    assert files(SKILLHUB_AGENTS_CONFIG=config, CODELIA_AGENTS_ROOT=str(repo)) == [
        "AGENTS.md",
        "a/AGENTS.md",
        "a/b/AGENTS.md",
    ]


@pytest.mark.parametrize("variable", ["SKILLHUB_PROJECT_ROOT", "CODELIA_AGENTS_ROOT"])
def test_a_root_that_is_not_there_is_refused_by_the_name_that_was_set(
    skillhub: Skillhub, repo: Path, variable: str
) -> None:
    done = skillhub("agents", "context", "--cwd", repo, "--json", **{variable: str(repo / "missing")})
    assert (done.code, done.error["setting"]) == (2, variable)


@pytest.mark.acceptance("S1-9")
def test_a_repository_of_settings_is_no_project_of_what_lies_below_it(skillhub: Skillhub, tmp_path: Path) -> None:
    home = tmp_path.resolve() / "home"
    for directory in (".git", ".config/.git", ".config/editor", "notes", "work/.git", "work/src"):
        (home / directory).mkdir(parents=True)
    for directory in ("", ".config", "work"):
        (home / directory / "AGENTS.md").write_text(f"Of {directory or 'the home'}.", encoding="utf-8")

    def shown(directory: str) -> list[str]:
        done = skillhub("agents", "context", "--cwd", home / directory, "--json", HOME=str(home))
        return [os.path.relpath(file["path"], home) for file in done.json["files"]]

    assert shown("notes") == shown(".config/editor") == []
    assert shown("work/src") == ["work/AGENTS.md"]
    assert shown("") == ["AGENTS.md"]


@pytest.mark.acceptance("S1-12", "S1-13", "S1-14", "S1-15", "S1-18")
def test_the_first_block_keeps_its_bounds_and_says_what_is_missing(skillhub: Skillhub, repo: Path) -> None:
    here = repo / "a" / "b"
    whole = skillhub("agents", "context", "--cwd", here)
    assert whole.out.startswith(
        f'<agents_context scope="initial">\nInstructions from: {repo}/AGENTS.md\nRoot rules.\n\n'
    )
    assert whole.out.endswith("Deep rules.\n</agents_context>\n")
    two = skillhub("agents", "context", "--cwd", here, SKILLHUB_AGENTS_CONFIG='{"initial": {"maxFiles": 2}}')
    assert "Deep rules." not in two.out
    assert f"{here}/AGENTS.md is not shown: there are more than 2 files; read it yourself\n" in two.err
    cut = skillhub(
        "agents", "context", "--cwd", here, "--json", SKILLHUB_AGENTS_CONFIG='{"initial": {"maxBytes": 200}}'
    )
    assert "Root rules." in cut.json["text"]
    # "Root rules." has 11 bytes, and of the odd rest half a character is left out.
    assert cut.json["text"].count("é") == 94
    assert "Deep rules." not in cut.json["text"]
    assert [note["path"] for note in cut.json["notes"]] == [f"{repo}/a/AGENTS.md", f"{here}/AGENTS.md"]
    (repo / "AGENTS.md").write_bytes(b"caf\xe9")
    (repo / "a" / "AGENTS.md").unlink()
    (repo / "a" / "AGENTS.md").mkdir()
    odd = skillhub("agents", "context", "--cwd", here)
    assert odd.code == 0
    assert "caf\ufffd" in odd.out
    assert f"{repo}/a/AGENTS.md is not a regular file" in odd.err
    off = skillhub("agents", "context", "--cwd", here, SKILLHUB_AGENTS_CONFIG='{"enabled": false}')
    assert (off.code, off.out) == (0, "")
    assert off.err == 'AGENTS.md files are switched off: "enabled" is false in SKILLHUB_AGENTS_CONFIG\n'


@pytest.mark.acceptance("S1-1", "S1-4")
@pytest.mark.parametrize("config", ['{"initial": {"maxFiles": 0}}', '{"more": 1}', "{", "/none/agents.json"])
def test_a_configuration_that_is_not_understood_is_refused(skillhub: Skillhub, repo: Path, config: str) -> None:
    done = skillhub("agents", "context", "--cwd", repo, "--json", SKILLHUB_AGENTS_CONFIG=config)
    assert (done.code, done.error["setting"]) == (2, "SKILLHUB_AGENTS_CONFIG")


@pytest.mark.acceptance("S1-24", "S1-25", "S1-27", "S1-28")
def test_a_session_is_kept_in_a_file_between_calls(skillhub: Skillhub, repo: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"

    def resolve(*paths: str, **environment: str) -> list[str]:
        done = skillhub("agents", "resolve", *paths, "--cwd", repo, "--state", state, "--json", **environment)
        return [os.path.relpath(file["path"], repo) for file in done.json["files"]]

    skillhub("agents", "context", "--cwd", repo, "--state", state)
    one = '{"resolver": {"maxFilesPerResolve": 1}}'
    assert resolve("a/b/new.py", SKILLHUB_AGENTS_CONFIG=one) == ["a/AGENTS.md"]
    assert resolve("a/b/new.py", SKILLHUB_AGENTS_CONFIG=one) == ["a/b/AGENTS.md"]
    assert resolve("a/b/new.py") == []
    off = '{"resolver": {"enabled": false}}'
    (tmp_path / "state.json").unlink()
    assert resolve("a/b/new.py", SKILLHUB_AGENTS_CONFIG=off) == []


@pytest.mark.acceptance("S1-26")
def test_a_path_outside_the_project_is_not_searched_and_is_reported(skillhub: Skillhub, repo: Path) -> None:
    done = skillhub("agents", "resolve", "/etc/hosts", "--cwd", repo)
    assert (done.code, done.out) == (0, "")
    assert "/etc/hosts is outside" in done.err


@pytest.mark.acceptance("S1-33")
def test_a_resumed_session_hears_what_changed(skillhub: Skillhub, repo: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    skillhub("agents", "context", "--cwd", repo, "--state", state)
    same = skillhub("agents", "resume-diff", "--cwd", repo, "--state", state)
    assert (same.code, same.out) == (0, "")
    assert skillhub("agents", "resume-diff", "--cwd", repo, "--state", state, "--json").json["changed"] is False
    moved = skillhub("agents", "resume-diff", "--cwd", repo / "a", "--state", state)
    assert moved.out.startswith('<system-reminder type="session.resume.diff">\n')
    assert f"- cwd: {repo} -> {repo}/a\n" in moved.out
    assert f"- {repo}/a/AGENTS.md (mtime: " in moved.out
    # The state goes on from there: what was named is not told again.
    assert skillhub("agents", "resume-diff", "--cwd", repo / "a", "--state", state).out == ""
    resolved = skillhub("agents", "resolve", "x", "--cwd", repo / "a", "--state", state, "--json")
    assert resolved.json["files"] == []


@pytest.mark.parametrize(
    "content", ["", "my notes\n", "{", "[]", '{"cwd": 1}', '{"cwd": "/", "root": "/", "markers": [], "more": 1}']
)
def test_a_state_that_is_none_is_told_and_left_as_it_is(
    skillhub: Skillhub, repo: Path, tmp_path: Path, content: str
) -> None:
    state = tmp_path / "state.json"
    state.write_text(content, encoding="utf-8")
    # To begin with, an empty file will do, as mktemp makes it.
    for arguments in (["resume-diff"], ["resolve", "a"], *([["context"]] if content else [])):
        done = skillhub("agents", *arguments, "--cwd", repo, "--state", state, "--json")
        assert (done.code, done.error["argument"]) == (2, "--state")
    assert state.read_text(encoding="utf-8") == content


def test_a_session_begins_anew_in_the_place_of_a_state_and_of_an_empty_file(
    skillhub: Skillhub, repo: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state.json"
    state.touch()
    for directory in (repo, repo / "a"):
        assert skillhub("agents", "context", "--cwd", directory, "--state", state).code == 0
        assert json.loads(state.read_text(encoding="utf-8"))["cwd"] == str(directory)
