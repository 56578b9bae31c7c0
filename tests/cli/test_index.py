"""`skillhub index`, `--reindex` and `--skip-auto-reindex`: when the index is written and forgotten, and the report."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp._util.file_modes import missing_feature

# Long ago, so that an unchanged time is believed, and not on a whole second.
LONG_AGO = (1_700_000_000_500_000_000, 1_700_000_000_500_000_000)
UNCHANGED = {"changed": False}


@pytest.fixture
def state_file(hub_environment: dict[str, str]) -> Path:
    return Path(hub_environment["DB_PATH"]).with_name("index_state.json")


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
    stamp = entry["stamp"]
    assert (stamp["mtime_ns"], stamp["size"]) == (status.st_mtime_ns, status.st_size)
    assert stamp["content_hash"] == hashlib.sha256(skill_file.read_bytes()).hexdigest()
    write_skill("one", "Has changed.", directory="group/one")
    skillhub("index")
    assert json.loads(state_file.read_text(encoding="utf-8"))["hash"] != state["hash"]


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


@pytest.fixture
def gone(skillhub: Skillhub, write_skill: SkillWriter, hub_environment: dict[str, str], tmp_path: Path) -> Path:
    """A root that another server has indexed in the database of this one."""
    root = tmp_path / "project" / "skills"
    write_skill("theirs", "About walruses.", root=root)
    write_skill("ours", "About bread.")
    assert skillhub("index", "--skills-dir", str(root)).code == 0
    assert skillhub("index").code == 0
    return root


def states(database: str) -> bytes:
    """The state of a database, all of it."""
    return b"".join(file.read_bytes() for file in Path(database).parent.glob("index_state*"))


def test_only_a_root_that_is_gone_is_a_warning(skillhub: Skillhub, gone: Path) -> None:
    there = skillhub("doctor", "--json").json
    (reported,) = there["unused_roots"]
    assert (reported["path"], reported["there"], reported["skills"]) == (str(gone), True, 1)
    assert str(gone) not in json.dumps(there["warnings"])
    assert str(gone) in json.dumps(there["notes"])
    gone.rename(gone.with_name("elsewhere"))
    assert f"skillhub index --forget {gone}" in json.dumps(skillhub("doctor", "--json").json["warnings"])


def test_a_root_is_listed_and_forgotten(skillhub: Skillhub, gone: Path, hub_environment: dict[str, str]) -> None:
    database = hub_environment["DB_PATH"]
    listed = skillhub("index", "--forget")
    assert (listed.code, listed.out.startswith(f"{gone}  1 skill of ")) == (0, True)
    assert "another project or server may use these" in listed.err
    tried = skillhub("index", "--forget", str(gone), "--dry-run", "--json").json
    assert (tried["forgotten"], [one["path"] for one in tried["roots"]]) == (False, [str(gone)])
    assert str(gone).encode() in states(database)
    done = skillhub("index", "--forget", str(gone.parent))
    assert (done.code, done.out.startswith(f"forgotten  {gone}  1 skill")) == (0, True)
    assert str(gone).encode() not in states(database)
    assert skillhub("index", "--forget", "--json").json == {"forgotten": False, "roots": []}
    assert [one["name"] for one in skillhub("list", "--json").json["skills"]] == ["ours"]


def test_roots_in_use_and_unknown_roots_are_not_forgotten(skillhub: Skillhub, gone: Path, skills_dir: Path) -> None:
    used = skillhub("index", "--forget", str(skills_dir))
    assert (used.code, str(skills_dir) in used.err) == (2, True)
    mistyped = skillhub("index", "--forget", f"{gone}s")
    assert (mistyped.code, f"did you mean {gone}?" in mistyped.err) == (2, True)
    assert skillhub("index", "--forget", "--verify").code == 2


def refuse(*_: Any, **__: Any) -> NoReturn:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


# LanceDB's own hard links cannot be made to fail here.
@pytest.mark.parametrize(("call", "what"), [("os.chmod", "file modes (chmod)"), ("fcntl.flock", "file locks")])
def test_an_index_on_a_file_system_that_lacks_something_is_reported_in_one_line(
    skillhub: Skillhub,
    write_skill: SkillWriter,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    call: str,
    what: str,
) -> None:
    write_skill("one")
    assert (missing_feature(str(tmp_path)), list(tmp_path.glob("*.new"))) == ("", [])
    monkeypatch.setattr(call, refuse)
    assert missing_feature(str(tmp_path)) == what
    done = skillhub("index")
    assert (done.code, "index     not written" in done.out) == (1, True)
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert line.startswith("The index at ")
    assert f" cannot be written: its file system has no {what}; set SKILLHUB_DB_PATH to a local disk" in line
