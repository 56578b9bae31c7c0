"""`skillhub new`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub, Terminal
from tests.conftest import SkillWriter, own_file

from skillhub_mcp.authoring.files import examples

DESCRIPTION = "Extract the totals of invoices. Use when an invoice has to be booked."


def test_a_new_skill_is_valid_found_and_its_cost_reported(skillhub: Skillhub, skills_dir: Path) -> None:
    typed = ("--description", DESCRIPTION, "--scripts", "--references", "--json")
    done = skillhub("new", "invoice-totals", *typed, SKILLHUB_SKIP_AUTO_REINDEX="1")
    assert (done.code, done.err) == (0, "")
    reported = done.json
    assert [Path(path).relative_to(skills_dir / "invoice-totals").as_posix() for path in reported["files"]] == [
        "SKILL.md",
        "references/details.md",
        "scripts/run.py",
    ]
    assert (reported["served"], reported["rank"], reported["hits"], reported["overlaps"]) == (True, 1, 1, [])
    assert min(reported["tokens"].values()) > 0
    # An untouched template is not a finished skill.
    untouched = skillhub("validate", skills_dir, "--json")
    assert (untouched.code, [one["rule"] for one in untouched.json["skills"][0]["findings"]]) == (1, ["template-left"])
    written = skills_dir / "invoice-totals" / "SKILL.md"
    written.write_text(written.read_text(encoding="utf-8").replace("[TODO: ", "["), encoding="utf-8")
    assert skillhub("validate", skills_dir, "--fail-on", "note").code == 0
    assert skillhub("show", "invoice-totals", "--json").json["description"] == DESCRIPTION


def test_without_a_terminal_the_description_is_drafted_from_the_name(skillhub: Skillhub, skills_dir: Path) -> None:
    done = skillhub("new", "pdf-tables")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"wrote     {skills_dir / 'pdf-tables' / 'SKILL.md'}\nfound     first of 1 hit")
    assert "say in its description what it does" in done.out


@pytest.mark.parametrize(
    ("answer", "description"),
    [
        (f"{DESCRIPTION}\n", DESCRIPTION),
        ("Book invoices\n", "Book invoices. Use when a task is about one."),
        ("", "Help with one. Use when a task is about one."),
    ],
    ids=["whole", "without a when", "end of input"],
)
def test_a_terminal_is_asked_for_the_description(
    skillhub: Skillhub, skills_dir: Path, monkeypatch: pytest.MonkeyPatch, answer: str, description: str
) -> None:
    asked = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", asked)
        assert skillhub("new", "one").code == 0
    assert asked.getvalue().startswith("What does it do, and when")
    assert asked.getvalue().count("\n> ") == 1
    assert f"description: {description}\n" in (skills_dir / "one" / "SKILL.md").read_text(encoding="utf-8")


def test_a_competing_skill_is_named(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("invoice-reader", DESCRIPTION.replace("invoices", "invoices and receipts"))
    write_skill("painter", "Paints walls. Use when a wall is bare.")
    done = skillhub("new", "invoice-totals", "--description", DESCRIPTION)
    assert "overlaps  invoice-reader " in done.out
    assert "painter" not in done.out


# No archive or repository with a device name of Windows can be installed from there.
@pytest.mark.parametrize(
    ("name", "offered"), [("Chat with PDF", "chat-with-pdf"), ("--", "my-skill"), ("LPT9", "lpt9-skill")]
)
def test_an_invalid_name_is_refused_with_a_valid_one(
    skillhub: Skillhub, skills_dir: Path, name: str, offered: str
) -> None:
    refused = skillhub("new", "--description", DESCRIPTION, "--", name)
    assert (refused.code, refused.out, list(skills_dir.iterdir())) == (2, "", [])
    assert refused.err.endswith(f"hint: skillhub new {offered}\n")
    assert skillhub("new", offered, "--description", DESCRIPTION).code == 0
    assert skillhub("new").err.startswith("error: NAME is required")


def test_an_existing_skill_is_not_overwritten(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one", "Mine.")
    before = (skills_dir / "one" / "SKILL.md").read_bytes()
    monkeypatch.setattr("sys.stdin", Terminal("never read"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    done = skillhub("new", "one")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: NAME is taken: ")
    assert (skills_dir / "one" / "SKILL.md").read_bytes() == before


@pytest.mark.parametrize("template", [[], ["--from-template", "csv-profiler"]])
def test_a_description_for_a_strict_registry_is_required(
    skillhub: Skillhub, skills_dir: Path, template: list[str]
) -> None:
    done = skillhub("new", "one", *template, "--description", "<b>x</b> Use when x")
    assert (done.code, done.out) == (2, "")
    assert "--description breaks a rule: the value of 'description' contains an angle bracket" in done.err
    assert "hint: remove the angle brackets" in done.err
    assert list(skills_dir.iterdir()) == []
    long = skillhub("new", "one", *template, "--description", f"Use when {'x' * 1_100}")
    assert (long.code, list(skills_dir.iterdir())) == (2, [])
    assert long.err.startswith("error: --description breaks a rule: the description has 1,109 characters")
    longest = f"Use when {'x ' * 500}"
    assert skillhub("new", "one", *template, "--description", longest).code == 0
    assert skillhub("call", "build_index").json["report"]["valid"] == 1


def test_a_failed_write_leaves_nothing(no_larger_files: Callable[[int], Skillhub], skills_dir: Path) -> None:
    done = no_larger_files(10)("new", "one", "--description", DESCRIPTION, "--json")
    assert (done.code, done.error["code"]) == (1, "LIBRARY_UNWRITABLE")
    assert done.error["hint"] == "--skills-dir DIR writes it elsewhere"
    assert list(skills_dir.iterdir()) == []


def test_a_project_skill_reports_that_skills_dir_excludes_it(skillhub: Skillhub, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    place = project / ".agents" / "skills"
    outside = skillhub("new", "one", "--project", "--cwd", project)
    assert f"found     not yet, as it is not served: skillhub why {place / 'one'}\n" in outside.out
    inside = skillhub("new", "two", "--project", "--cwd", project, "--json", SKILLHUB_ROOTS="project,hub")
    assert (inside.json["path"], inside.json["served"]) == (str(place / "two"), True)
    assert skillhub("new", "three", "--project", "--skills-dir", project).code == 2


def test_a_shadowing_skill_is_reported(skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path) -> None:
    theirs = write_skill("one", "Theirs. Use when they ask.", root=tmp_path / "first")
    both = f"{tmp_path / 'first'}:{tmp_path / 'second'}"
    done = skillhub("new", "one", "--skills-dir", tmp_path / "second", "--json", SKILLS_DIR=both)
    assert (done.json["served"], done.json["shadowed_by"]) == (False, str(theirs))


def test_an_example_is_copied_with_its_files(skillhub: Skillhub, skills_dir: Path) -> None:
    listed = skillhub("new", "--from-template", "--json").json["examples"]
    assert [one["name"] for one in listed] == [one.name for one in examples()]
    assert "csv-profiler  " in skillhub("new", "mine", "--from-template").out
    done = skillhub("new", "mine", "--from-template", "csv-profiler", "--json")
    assert (done.code, done.json["rank"]) == (0, 1)
    assert (skills_dir / "mine" / "scripts" / "profile.py").is_file()
    assert "make it your own, then: skillhub validate" in skillhub("new", "--from-template", "csv-profiler").out
    assert (skills_dir / "csv-profiler").is_dir()
    # Search shows one of two that say the same, and that is how the other is found.
    copy = skillhub("new", "third", "--from-template", "csv-profiler").out
    assert "found     first of " in copy
    assert " says nearly the same: keep one of them" in copy
    assert skillhub("validate", skills_dir, "--fail-on", "note").code == 0


def test_a_failed_look_up_is_reported_after_writing(skillhub: Skillhub, skills_dir: Path) -> None:
    own_file("permissions.json").write_text("broken")
    done = skillhub("new", "one")
    assert done.code == 0
    assert str(skills_dir / "one" / "SKILL.md") in done.out
    assert "found     not known: " in done.out
