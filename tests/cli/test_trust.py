"""`skillhub trust`: a project's skills are shown before anything is recorded, and marked until they are trusted."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import SKILLHUB, Skillhub
from tests.conftest import SkillWriter


@pytest.fixture
def repo(tmp_path: Path, write_skill: SkillWriter) -> Path:
    """A repository that brings `commit`, which the hub has too, and a pinned skill."""
    repo = tmp_path.resolve() / "repo"
    (repo / ".git").mkdir(parents=True)
    write_skill("commit", "The hub's.")
    write_skill("commit", "The project's.", root=repo / ".agents" / "skills")
    pinned = 'metadata:\n  skillhub.alwaysApply: "true"\n'
    write_skill("obey", "Always.", root=repo / ".agents" / "skills", extra=pinned)
    return repo


@pytest.fixture
def record() -> Path:
    return Path(os.environ["HOME"]) / ".skillhub" / "trust.json"


def here(repo: Path) -> tuple[str | Path, ...]:
    return ("--cwd", repo, "--roots", "project,hub")


def test_the_effects_of_trust_are_shown_and_nothing_is_recorded_without_consent(
    skillhub: Skillhub, repo: Path, record: Path, skills_dir: Path
) -> None:
    (repo / ".skillhub").mkdir()
    (repo / ".skillhub" / "permissions.json").write_text(
        '{"permissions": {"deny": [{"tool": "load_skill", "skill_name": "obey"}]}}', encoding="utf-8"
    )
    shown = (
        f"{repo}\n"
        "  .agents/skills: 2 skills, awaiting trust\n"
        "    commit\n"
        "      The project's.\n"
        f"      → takes the name from {skills_dir.resolve()}/commit\n"
        "    obey\n"
        "      Always.\n"
        "      → is pinned: described to each model that connects\n"
        "  .skillhub/permissions.json: rules about these skills\n"
        "What is marked → applies once you trust the project.\n"
    )
    assert skillhub("trust", *here(repo)).out == shown
    done = skillhub("trust", repo, "--roots", "project,hub")
    assert (done.code, done.out) == (1, shown)
    assert done.err == "Nothing was recorded; --yes records it without a question\n"
    assert not record.exists()


def test_yes_records_trust_and_revoke_removes_it(skillhub: Skillhub, repo: Path, record: Path) -> None:
    done = skillhub("trust", "--yes", *here(repo))
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("Trusted, until a file of it changes: recorded in ~/.skillhub/trust.json\n")
    assert list(json.loads(record.read_text(encoding="utf-8"))["projects"]) == [str(repo)]
    again = skillhub("trust", *here(repo))
    assert (again.code, again.err) == (0, "")
    assert ".agents/skills: 2 skills, trusted\n" in again.out
    assert "once you trust" not in again.out
    (repo / ".agents" / "skills" / "obey" / "run.sh").write_text("curl", encoding="utf-8")
    assert "changed since you trusted it" in skillhub("trust", *here(repo)).out
    assert skillhub("trust", "--revoke", *here(repo)).out == f"{repo} is no longer trusted\n"
    assert skillhub("trust", "--revoke", repo, "--json").json["revoked"] is False


@pytest.mark.parametrize("way", ["skill", "root"])
def test_links_out_of_a_project_are_followed_while_it_is_trusted(
    skillhub: Skillhub, repo: Path, tmp_path: Path, write_skill: SkillWriter, way: str
) -> None:
    far, skills = write_skill("far", body="Far.\n", root=tmp_path / "far"), repo / ".agents" / "skills"
    evil = write_skill("far", body="Evil.\n", root=tmp_path / "evil")
    if way == "root":
        shutil.rmtree(skills)
    link = skills if way == "root" else skills / "far"

    def lead_to(target: Path) -> None:
        link.unlink(missing_ok=True)
        link.symlink_to(target.parent if way == "root" else target)

    lead_to(far)
    assert f"  → run `skillhub trust {repo}` if you trust what is there\n" in skillhub("doctor", *here(repo)).out
    assert skillhub("show", "far", *here(repo)).code == 1
    assert "Far." in skillhub("show", "far", *here(repo), SKILLHUB_TRUST="all").out
    done = skillhub("trust", "--yes", *here(repo))
    assert f"      → is a link out of the project, to {far.resolve()}\n" in done.out
    assert "Far." in skillhub("show", "far", *here(repo)).out
    lead_to(evil)
    assert skillhub("show", "far", *here(repo)).code == 1
    assert "changed since you trusted it" in skillhub("trust", *here(repo)).out
    lead_to(far)
    assert "Far." in skillhub("show", "far", *here(repo)).out
    (far / "run.sh").write_text("curl", encoding="utf-8")
    assert skillhub("show", "far", *here(repo)).code == 1


def test_a_removed_project_can_be_revoked(skillhub: Skillhub, repo: Path, record: Path) -> None:
    skillhub("trust", "--yes", *here(repo))
    repo.rename(repo.with_name("moved"))
    assert skillhub("trust", "--revoke", repo).out == f"{repo} is no longer trusted\n"
    done = skillhub("trust", repo)
    assert (done.code, done.out) == (2, "")
    assert f"DIR {str(repo)!r} is not a directory" in done.err


def test_json_asks_nothing(skillhub: Skillhub, repo: Path, skills_dir: Path) -> None:
    shown = skillhub("trust", "--json", *here(repo)).json
    (place,) = shown["places"]
    assert (shown["project"], shown["trust"], shown["mode"], shown["recorded"]) == (
        str(repo),
        "awaited",
        "limited",
        False,
    )
    assert [(one["name"], one["pinned"], one["takes_from"]) for one in place["skills"]] == [
        ("commit", False, [f"{skills_dir.resolve()}/commit"]),
        ("obey", True, []),
    ]
    assert place["digest"].startswith("sha256:")
    assert skillhub("trust", "--yes", "--json", *here(repo)).json["recorded"] is True


def test_an_unreadable_project_cannot_be_trusted(skillhub: Skillhub, repo: Path, record: Path) -> None:
    (repo / ".skillhub" / "permissions.json").mkdir(parents=True)
    done = skillhub("trust", "--yes", *here(repo))
    assert "not to be trusted: '.skillhub/permissions.json' cannot be read: Is a directory\n" in done.out
    assert (done.code, done.err) == (1, "Nothing was recorded: what cannot be read whole cannot be trusted\n")
    assert not record.exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="this system has no pseudo-terminals")
@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 1)])
def test_a_terminal_is_asked(
    hub_environment: dict[str, str], repo: Path, record: Path, answer: bytes, code: int
) -> None:
    pty = pytest.importorskip("pty")
    process, terminal = pty.fork()
    if process == 0:
        environment = {**hub_environment, "HOME": os.environ["HOME"], "TERM": "dumb", "SKILLHUB_ROOTS": "project,hub"}
        os.execve(SKILLHUB[0], [*SKILLHUB, "trust", str(repo)], environment)
    seen = b""
    while not seen.endswith(b"Trust it as it is now? [y/N] "):
        seen += os.read(terminal, 1024)
    assert b"is pinned" in seen
    os.write(terminal, answer)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == code
    os.close(terminal)
    assert record.exists() is (code == 0)


def test_every_listing_marks_skills_that_await_trust(skillhub: Skillhub, repo: Path) -> None:
    listed = skillhub("list", *here(repo))
    assert "obey  project  (awaits trust) Always.\n" in listed.out
    assert "2 skills of this project awaiting trust: `skillhub trust` shows them\n" in listed.err
    states = {one["handle"]: one["trust"] for one in skillhub("list", "--json", *here(repo)).json["skills"]}
    assert states == {"commit": "own", "commit@project": "awaited", "obey": "awaited"}
    assert skillhub("list", "--category", "none", *here(repo)).out.startswith("No skills:")
    assert "commit@project  (awaits trust: `skillhub trust`)\n" in skillhub("search", "commit", *here(repo)).out
    assert "source:        project; awaits trust: `skillhub trust`\n" in skillhub("show", "obey", *here(repo)).out
    why = skillhub("why", "obey", *here(repo)).out
    assert "from an untrusted project: it cannot override your skills" in why
    assert "skillhub trust" in why
    doctor = skillhub("doctor", "--json", *here(repo)).json
    assert doctor["awaiting_trust"] == [{"path": f"{repo}/.agents/skills", "trust": "awaited"}]
    (warning,) = [one for one in doctor["warnings"] if "trust" in one["message"]]
    assert warning["fix"] == f"`skillhub trust {repo}` shows what the project brings"
    note = "./.agents/skills  (awaits trust, so it comes last: `skillhub trust`)\n"
    assert note in skillhub("roots", *here(repo)).out
    left_out = skillhub("list", "--all", *here(repo), SKILLHUB_TRUST="none")
    assert "obey  project  (left out, awaits trust) Always.\n" in left_out.out


def test_doctor_reports_an_invalid_record_and_invalid_project_rules(
    skillhub: Skillhub, repo: Path, record: Path
) -> None:
    record.parent.mkdir(exist_ok=True)
    record.write_text("{", encoding="utf-8")
    (repo / ".skillhub").mkdir()
    (repo / ".skillhub" / "permissions.json").write_text("{", encoding="utf-8")
    problems = {one["subject"]: one["fix"] for one in skillhub("doctor", "--json", *here(repo)).json["problems"]}
    assert problems[str(record)] == "fix or remove it; no project is trusted until then"
    rules = f"{repo}/.skillhub/permissions.json"
    assert problems[rules] == "fix or remove it; the skills of the project are not loaded until then"
    assert "its project's rules cannot be read" in skillhub("list", "--all", *here(repo)).out
    record.chmod(0o666)
    fixes = [one["fix"] for one in skillhub("doctor", "--json", *here(repo)).json["problems"]]
    assert [fix for fix in fixes if str(record) in fix] == [f"run chmod go-w {record}"]
    assert len(fixes) == 2
    record.chmod(0o600)
    done = skillhub("trust", "--yes", *here(repo))
    assert done.code == 1
    assert done.err.startswith("error: Your trust.json cannot be used: line 1 is not JSON")
    assert str(record) in done.err


@pytest.mark.acceptance("S3-18")
def test_a_trusted_project_wins_names(skillhub: Skillhub, repo: Path) -> None:
    def served() -> dict[str, str]:
        return {one["name"]: one["source"] for one in skillhub("call", "build_index", *here(repo)).json["skills"]}

    assert served()["commit"] == "hub"
    skillhub("trust", "--yes", *here(repo))
    assert served()["commit"] == "project"


def test_the_user_can_enable_a_skill_that_its_project_denies(skillhub: Skillhub, repo: Path) -> None:
    (repo / ".skillhub").mkdir()
    deny = '{"permissions": {"deny": [{"tool": "load_skill"}]}}'
    (repo / ".skillhub" / "permissions.json").write_text(deny, encoding="utf-8")
    done = skillhub("enable", "obey", *here(repo))
    assert done.err == "obey is still not served: denied\n"
    assert skillhub("enable", "obey", "--project", *here(repo)).err == ""
    assert skillhub("show", "obey", *here(repo)).code == 0
    # It denies nothing of the hub's.
    assert skillhub("show", "commit", *here(repo)).code == 0


def test_a_look_alike_name_is_marked(skillhub: Skillhub, repo: Path, write_skill: SkillWriter) -> None:
    write_skill("deploy-tool", "Mine.")
    write_skill("deploy-to0l", "Theirs.", root=repo / ".agents" / "skills")
    shown = skillhub("trust", *here(repo)).out
    assert "      ! its name looks like that of deploy-tool, which you have\n" in shown
    assert shown.count("looks like") == 1
    skills = skillhub("trust", "--json", *here(repo)).json["places"][0]["skills"]
    assert {one["name"]: one["looks_like"] for one in skills}["deploy-to0l"] == ["deploy-tool"]
