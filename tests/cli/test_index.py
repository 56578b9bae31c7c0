"""`skillhub index`, `--reindex` and `--skip-auto-reindex`: when the index is written, and the report."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.fakes.embedding_api import EmbeddingApi

# Long ago, so that an unchanged time is believed, and not on a whole second.
LONG_AGO = (1_700_000_000_500_000_000, 1_700_000_000_500_000_000)
UNCHANGED = {"changed": False}


@pytest.fixture
def state_file(hub_environment: dict[str, str]) -> Path:
    return Path(hub_environment["DB_PATH"]).with_name("index_state.json")


@pytest.fixture
def api() -> Iterator[EmbeddingApi]:
    with EmbeddingApi() as served:
        yield served


def state_hash(state_file: Path) -> str:
    return str(json.loads(state_file.read_text(encoding="utf-8"))["hash"])


def names(done: Any) -> list[str]:
    return [skill["name"] for skill in done.json["skills"]]


@pytest.mark.acceptance("S2-53", "S2-54")
def test_the_report_counts_found_served_shadowed_and_refused_skills(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("good")
    older = write_skill("good", directory="older", body="another\n")
    os.utime(older / "SKILL.md", ns=LONG_AGO)
    write_skill("broken", frontmatter="name: broken\n'open")
    done = skillhub("index")
    assert (done.code, done.err) == (0, "")
    assert "found     3\nserved    1\n" in done.out
    assert "shadowed  1\nrefused   1\n" in done.out
    assert "index     rebuilt, 2 written, 0 removed (there is no index yet)\n" in done.out
    assert f"{skills_dir}/broken/SKILL.md is refused:\n  line 4: " in done.out
    assert f"shadowed:\n  {skills_dir}/older by {skills_dir}/good" in done.out
    report = skillhub("index", "--json").json
    assert (report["found"], report["served"], report["index"]) == (3, 1, UNCHANGED)
    assert report["digest"] in done.out
    (refused,) = report["refused"]
    assert (refused["path"], refused["diagnostics"][0]["rule"]) == (str(skills_dir / "broken"), "yaml-invalid")
    (shadowed,) = report["shadowed"]
    assert shadowed["name"] == "good"
    assert names(skillhub("search", "good", "--json")) == ["good"]


@pytest.mark.parametrize("command", [("index",), ("search", "good"), ("--reindex",), ("list",)], ids=" ".join)
def test_a_directory_with_other_files_is_refused_as_index(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path, command: tuple[str, ...]
) -> None:
    write_skill("good")
    theirs = tmp_path / "theirs" / "docs"
    theirs.mkdir(parents=True)
    theirs.chmod(0o755)
    (theirs / "report.html").touch()
    for given in (theirs, f"{theirs}/", theirs.parent):
        before = sorted(tmp_path.rglob("*"))
        done = skillhub(*command, DB_PATH=str(given))
        assert (done.code, done.out, sorted(tmp_path.rglob("*"))) == (2, "", before)
        found = "docs" if given == theirs.parent else "report.html"
        at = str(given).rstrip("/")
        assert f"DB_PATH='{at}' is a directory that has something else in it ('{found}'), and no index" in done.err
        assert f"such as {at}/skills.lancedb" in done.err
        assert stat.S_IMODE(theirs.stat().st_mode) == 0o755
    assert skillhub("index", DB_PATH=str(theirs / "skills.lancedb")).code == 0


@pytest.mark.acceptance("S2-56", "S2-60")
def test_unknown_keys_are_reported_and_refused_only_when_strict(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("good", extra="license: MIT\nallowed-tools: Read\ncompatibility: any\nmetadata: {a: b}")
    write_skill("wild", extra="runtime: python\nrequires_setup: true")
    report = skillhub("index", "--json").json
    assert (report["served"], report["diagnostics"]) == (2, {"key-unknown": 2})
    assert "skills that are served break 1 rule: `skillhub validate` lists them" in skillhub("index").out
    strict = skillhub("index", "--json", SKILLHUB_STRICT="1").json
    assert strict["served"] == 1
    assert [Path(refused["path"]).name for refused in strict["refused"]] == ["wild"]
    assert names(skillhub("list", "--json", SKILLHUB_STRICT="1")) == ["good"]


@pytest.mark.acceptance("S2-48")
def test_the_state_beside_the_database_describes_every_file(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, state_file: Path
) -> None:
    skill_file = write_skill("one", directory="group/one") / "SKILL.md"
    skillhub("index")
    state = json.loads(state_file.read_text(encoding="utf-8"))
    assert isinstance(state["schema"], int)
    assert state["embedder"] == "none"
    ((path, root),) = state["roots"].items()
    assert (path, root["label"]) == (str(skills_dir), "hub")
    ((key, entry),) = root["files"].items()
    status = skill_file.stat()
    assert key == "group/one"
    assert (entry["mtime_ns"], entry["size"]) == (status.st_mtime_ns, status.st_size)
    assert entry["sha256"] == hashlib.sha256(skill_file.read_bytes()).hexdigest()


@pytest.mark.acceptance("S2-48")
def test_the_hash_covers_path_time_and_content_only(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, state_file: Path
) -> None:
    skill_file = write_skill("one", files={"notes.md": "x"}) / "SKILL.md"

    def hash_after(*arguments: str) -> str:
        skillhub("index", *arguments)
        return state_hash(state_file)

    seen = [hash_after()]
    (skill_file.parent / "notes.md").write_text("other", encoding="utf-8")
    assert hash_after("--verify") == seen[0]
    os.utime(skill_file, ns=LONG_AGO)
    seen.append(hash_after())
    skill_file.write_text(skill_file.read_text(encoding="utf-8").replace("one", "two"), encoding="utf-8")
    os.utime(skill_file, ns=LONG_AGO)
    seen.append(hash_after("--verify"))
    skill_file.parent.rename(skills_dir / "elsewhere")
    seen.append(hash_after())
    assert len(set(seen)) == len(seen)


@pytest.mark.acceptance("S2-49", "S2-50")
def test_only_changed_skills_are_written(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, state_file: Path
) -> None:
    def index() -> tuple[object, ...]:
        facts = skillhub("index", "--json").json["index"]
        return facts["reason"], facts["written"], facts["removed"]

    write_skill("one", "Reads PDF files.")
    assert index() == ("there is no index yet", 1, 0)
    write_skill("two")
    assert index() == ("skills changed", 1, 0)
    write_skill("one", "Reads CSV files.")
    assert index() == ("skills changed", 1, 0)
    assert names(skillhub("search", "CSV", "--json")) == ["one"]
    (skills_dir / "two" / "SKILL.md").unlink()
    assert index() == ("skills changed", 0, 1)
    before = state_file.read_bytes()
    assert skillhub("index", "--json").json["index"] == UNCHANGED
    assert state_file.read_bytes() == before


@pytest.mark.slow
@pytest.mark.acceptance("S2-50")
def test_another_provider_or_model_is_indexed_once(
    skillhub: Skillhub, write_skill: SkillWriter, api: EmbeddingApi
) -> None:
    write_skill("one")
    skillhub("index")
    environment = {"EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": "k", "EMBEDDING_BASE_URL": api.url_for("openai")}
    for model in ("a", "b"):
        facts = skillhub("index", "--json", EMBEDDING_MODEL=model, **environment).json["index"]
        assert facts["rebuilt"] is True
        assert facts["reason"] == "there is no index yet"
        assert skillhub("index", "--json", EMBEDDING_MODEL=model, **environment).json["index"] == UNCHANGED
    assert skillhub("index", "--json").json["index"] == UNCHANGED


@pytest.mark.acceptance("S2-51")
def test_reindex_rebuilds_everything_and_exits(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one")
    skillhub("index")
    done = skillhub("--reindex")
    assert done.code == 0
    assert "index     rebuilt, 1 written, 0 removed (requested)\n" in done.out
    report = skillhub("--reindex", "--json").json
    assert (report["served"], report["index"]["rebuilt"]) == (1, True)


@pytest.mark.slow
@pytest.mark.acceptance("S2-51")
def test_reindex_with_a_transport_rebuilds_and_then_serves(
    skillhub: Skillhub, process: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("one")
    skillhub("index")
    done = process("--reindex", "--transport", "stdio")
    assert (done.code, done.out) == (0, "")
    assert "requested" in done.err


@pytest.mark.acceptance("S2-52")
@pytest.mark.parametrize("way", ["option", "variable"])
def test_the_check_for_changes_can_be_skipped(skillhub: Skillhub, write_skill: SkillWriter, way: str) -> None:
    option = ["--skip-auto-reindex"] if way == "option" else []
    environment = {} if option else {"SKILLHUB_SKIP_AUTO_REINDEX": "1"}
    write_skill("painter", "Paints walls.")
    skillhub("index")
    write_skill("carver", "Carves walls.")
    assert names(skillhub(*option, "list", "--json", **environment)) == ["painter"]
    assert names(skillhub(*option, "search", "walls", "--json", **environment)) == ["painter"]
    assert sorted(names(skillhub("search", "walls", "--json"))) == ["carver", "painter"]


@pytest.mark.acceptance("S2-52")
def test_a_skipped_check_without_an_index_names_the_command(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one")
    done = skillhub("search", "one", "--json", SKILLHUB_SKIP_AUTO_REINDEX="1")
    assert (done.code, done.out, done.error["code"]) == (1, "", "INDEX_UNAVAILABLE")
    assert done.error["hint"] == "run skillhub --reindex"
    assert skillhub("--reindex", SKILLHUB_SKIP_AUTO_REINDEX="1").code == 0
    assert names(skillhub("search", "one", "--json", SKILLHUB_SKIP_AUTO_REINDEX="1")) == ["one"]


def test_an_edit_that_keeps_size_and_time_is_found(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    skill_file = write_skill("one", "Reads PDF files.") / "SKILL.md"
    os.utime(skill_file, ns=LONG_AGO)
    skillhub("index")
    skill_file.write_text(skill_file.read_text(encoding="utf-8").replace("PDF", "CSV"), encoding="utf-8")
    os.utime(skill_file, ns=LONG_AGO)
    assert names(skillhub("search", "CSV", "--json")) == ["one"]
    assert skillhub("index", "--verify", "--json").json["index"] == UNCHANGED


def test_verify_repairs_rows_that_differ_from_the_files(
    skillhub: Skillhub, write_skill: SkillWriter, hub_environment: dict[str, str], state_file: Path
) -> None:
    import lancedb

    write_skill("one", "Reads PDF files.")
    write_skill("two", "Reads CSV files.")
    skillhub("index")
    table = lancedb.connect(hub_environment["DB_PATH"]).open_table("skills")
    table.delete("name = 'one'")
    state = json.loads(state_file.read_text(encoding="utf-8"))
    state_file.write_text(
        json.dumps({**state, "table": {**state["table"], "version": table.version}}), encoding="utf-8"
    )
    assert names(skillhub("search", "PDF", "--json")) == []
    assert skillhub("index", "--verify", "--json").json["index"]["changed"] is True
    assert names(skillhub("search", "PDF", "--json")) == ["one"]


def test_an_unwritable_database_is_an_error(skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path) -> None:
    write_skill("one")
    (tmp_path / "file").write_text("not a directory", encoding="utf-8")
    database = tmp_path / "file" / "db"
    done = skillhub("index", "--json", SKILLHUB_DB_PATH=str(database))
    assert (done.code, done.error["code"]) == (1, "INDEX_UNAVAILABLE")
    assert str(database) in done.error["message"]
    assert done.json["index"] == {"changed": False, "problem": done.error["message"]}
    reported = skillhub("index", SKILLHUB_DB_PATH=str(database))
    assert "index     not written" in reported.out
    assert reported.err.startswith(f"error: {done.error['message']}\n\nhint: ")


def test_a_missing_skills_directory_is_named(skillhub: Skillhub, tmp_path: Path) -> None:
    done = skillhub("index", "--skills-dir", tmp_path / "nowhere")
    assert done.code == 1
    assert f"{tmp_path}/nowhere does not exist; create it, or correct SKILLS_DIR" in done.out
    assert "No SKILL.md was found" not in done.out
    (problem,) = skillhub("index", "--json", "--skills-dir", tmp_path / "nowhere").json["problems"]
    assert problem["fix"] == "create it, or correct SKILLS_DIR"


def test_an_empty_directory_succeeds_and_one_with_only_refused_skills_fails(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path
) -> None:
    skills_dir.mkdir(exist_ok=True)
    empty = skillhub("index")
    fix = "put a folder with a SKILL.md there, as `skillhub add SOURCE` and `skillhub new NAME` do"
    said = f"No SKILL.md was found: {skills_dir} has no skill; {fix}\n"
    assert (empty.code, empty.out.endswith(said)) == (0, True)
    silent = write_skill("silent", frontmatter="name: silent")
    assert skillhub("index").code == skillhub("list").code == 1
    write_skill("good")
    done = skillhub("index")
    assert (done.code, f"{silent}/SKILL.md is refused:" in done.out) == (0, True)


@pytest.mark.slow
def test_skills_of_an_empty_directory_stay_known_until_forgotten(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        write_skill(name, "About walruses.")
    skillhub("index")
    skills_dir.rename(tmp_path / "away")
    skills_dir.mkdir()
    reported = "is empty, and had 2 skills, which stay known and cannot be loaded"
    assert reported in skillhub("index").out
    doctor = skillhub("doctor")
    assert (doctor.code, reported in doctor.out, "skillhub index --forget" in doctor.out) == (1, True, True)
    assert doctor.out.startswith("1 problem\n  2 skills served\n")
    assert skillhub("list").out.count("(its skills directory is away)") == 2
    assert names(skillhub("search", "walruses", "--json")) == ["one", "two"]
    shown = skillhub("show", "one")
    assert (shown.code, "its skills directory 'skills' is empty" in shown.err) == (1, True)
    assert skillhub("--reindex").code == 1
    assert skillhub("index", "--forget", str(skills_dir), "--verify").code == 2
    assert skillhub("index", "--forget", str(skills_dir)).code == 0
    assert skillhub("list", "--json").json["skills"] == []
    skills_dir.rmdir()
    (tmp_path / "away").rename(skills_dir)
    assert names(skillhub("search", "walruses", "--json")) == ["one", "two"]
