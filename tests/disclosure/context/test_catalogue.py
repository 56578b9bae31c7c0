"""The agent-context tools' catalogue of a working directory: the skills it lists and the errors it reports."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.disclosure.context.conftest import Add, agreed

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.bootstrap.library import make_catalogues
from skillhub_mcp.disclosure.catalogue import Budget
from skillhub_mcp.disclosure.context.catalogue import Catalogues, Listing, skill_id
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.project import find_project
from skillhub_mcp.settings import settings_of

LONG = "x" * 1_024


def names(listing: Listing) -> list[tuple[str, str]]:
    return [(skill.scope, skill.name) for skill in listing.skills]


@pytest.mark.acceptance("S0-8", "S0-9")
def test_project_directories_are_repo_and_the_home_is_user(
    catalogues: Catalogues, add: Add, project: Path, home: Path
) -> None:
    add(project, "at-root")
    add(project / "packages", "in-between")
    add(project / "packages" / "x", "at-cwd")
    add(home, "at-home")
    listing = catalogues.listing(str(project / "packages" / "x"))
    assert sorted(names(listing)) == [
        ("repo", "at-cwd"),
        ("repo", "at-root"),
        ("repo", "in-between"),
        ("user", "at-home"),
    ]
    assert names(listing)[-1] == ("user", "at-home")


@pytest.mark.acceptance("S0-10")
def test_skills_are_found_down_to_six_directories(catalogues: Catalogues, add: Add, project: Path) -> None:
    add(project, "six", directory="1/2/3/4/5/six")
    add(project, "seven", directory="1/2/3/4/5/6/seven")
    assert names(catalogues.listing()) == [("repo", "six")]


@pytest.mark.acceptance("S0-11")
def test_other_places_are_not_searched(
    catalogues: Catalogues, add: Add, project: Path, home: Path, write_skill: Add, tmp_path: Path
) -> None:
    for place in (project / ".claude" / "skills", project / ".agent" / "skills", home / ".claude" / "skills"):
        write_skill("elsewhere", root=place)
    write_skill("in-the-hub")
    add(project / "sibling", "sibling")
    add(tmp_path, "above")
    cwd = project / "here"
    cwd.mkdir()
    assert names(catalogues.listing(str(cwd))) == []


@pytest.mark.acceptance("S0-15")
def test_only_a_file_named_exactly_skill_md_is_a_skill(catalogues: Catalogues, project: Path) -> None:
    skills = project / ".agents" / "skills"
    for name, file in (("lower", "skill.md"), ("other", "Skill.md"), ("none", "README.md")):
        (skills / name).mkdir(parents=True)
        (skills / name / file).write_text("---\nname: lower\ndescription: d\n---\n", encoding="utf-8")
    listing = catalogues.listing()
    assert (listing.skills, listing.errors) == ((), ())


@pytest.mark.acceptance("S0-4", "S0-16")
def test_an_unreadable_directory_does_not_affect_others(catalogues: Catalogues, add: Add, project: Path) -> None:
    add(project, "good")
    loop = project / ".agents" / "skills" / "loop"
    loop.symlink_to(loop)
    (project / ".agents" / "skills" / "odd").mkdir()
    (project / ".agents" / "skills" / "odd" / "SKILL.md").mkdir()
    listing = catalogues.listing()
    assert names(listing) == [("repo", "good")]
    assert {os.path.basename(error.path) for error in listing.errors} == {"loop", "SKILL.md"}
    assert all(error.message for error in listing.errors)


# What is wrong, the directory, the file, and what is said of it. The directory has the name wherever that can be, so
# that the two rules are not mistaken for each other.
BROKEN: dict[str, tuple[str, str, str]] = {
    "no frontmatter": ("one", "# One\n", "the file does not start with a line ---"),
    "an unclosed one": ("one", "---\nname: one\ndescription: d\n", "there is no closing line ---"),
    "no name": ("one", "---\ndescription: d\n---\n", "there is no name;"),
    "an empty name": ("one", "---\nname: ''\ndescription: d\n---\n", "there is no name "),
    "a long name": ("x" * 65, f"---\nname: {'x' * 65}\ndescription: d\n---\n", "is not of 1 to 64 lowercase letters"),
    "a capital": ("One", "---\nname: One\ndescription: d\n---\n", "is not of 1 to 64 lowercase letters"),
    "a blank": ("one two", "---\nname: one two\ndescription: d\n---\n", "is not of 1 to 64 lowercase letters"),
    "another script": ("技能", "---\nname: 技能\ndescription: d\n---\n", "has other characters than a-z"),
    "a slash": ("one", "---\nname: a/b\ndescription: d\n---\n", "the name is 'a/b', and the directory is named 'one'"),
    "a hyphen first": ("-a", "---\nname: -a\ndescription: d\n---\n", "the name '-a' is not of 1 to 64"),
    "a hyphen last": ("a-", "---\nname: a-\ndescription: d\n---\n", "the name 'a-' is not of 1 to 64"),
    "two hyphens": ("a--b", "---\nname: a--b\ndescription: d\n---\n", "the name 'a--b' is not of 1 to 64"),
    "no description": ("one", "---\nname: one\n---\n", "there is no description"),
    "a blank description": ("one", "---\nname: one\ndescription: '  '\n---\n", "there is no description"),
    "a long description": (
        "one",
        f"---\nname: one\ndescription: {LONG}y\n---\n",
        "the description has 1,025 characters",
    ),
    "another directory": (
        "one",
        "---\nname: two\ndescription: d\n---\n",
        "the name is 'two', and the directory is named 'one' (line 2); rename the skill or the directory",
    ),
    "broken YAML": ("one", "---\nname: one\n'open\n---\n", "fix the YAML at the reported line"),
    "NUL bytes": ("one", "---\nname: one\0\ndescription: d\n---\n", "the file contains NUL bytes"),
}


@pytest.mark.acceptance("S0-4", "S0-17", "S0-18", "S0-19", "S0-20", "S0-22", "S0-23")
@pytest.mark.parametrize("case", BROKEN)
def test_an_invalid_skill_is_an_error_with_its_path(case: str, catalogues: Catalogues, add: Add, project: Path) -> None:
    add(project, "good")
    name, written, reported = BROKEN[case]
    directory = project / ".agents" / "skills" / name
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text(written, encoding="utf-8")
    listing = catalogues.listing()
    assert names(listing) == [("repo", "good")]
    (error,) = listing.errors
    assert error.path == str(directory / "SKILL.md")
    assert reported in error.message
    # The error must not suggest that the skill is served.
    assert "is used" not in error.message


@pytest.mark.acceptance("S0-20", "S0-21", "S0-23")
@pytest.mark.parametrize(
    ("written", "description"),
    [
        (f"---\nname: one\ndescription: {LONG}\n---\n", LONG),
        ("---\r\nname: one\r\ndescription: Does it.\r\n---\r\nBody\r\n", "Does it."),
        ("\ufeff---\nname: one\ndescription: Does it.\n---\n", "Does it."),
        ("---\nname: one\ndescription: |\n  First.\n  Second.\n---\n", "First.\nSecond."),
        ("---\nname: one\ndescription: Use when: it's due\n---\n", "Use when: it's due"),
        ("---\nname: one\ndescription: d\nversion: 1.0\nlicense: MIT\nmetadata:\n  a: b\n---\n", "d"),
        ("---\nname: one\ndescription: d\nargument-hint: <a: b>\ntags: [next,@x/y]\n---\n", "d"),
        ("---\nname: one\ndescription: d\n---", "d"),
    ],
)
def test_unusual_but_valid_skills_are_listed(
    written: str, description: str, catalogues: Catalogues, project: Path
) -> None:
    directory = project / ".agents" / "skills" / "one"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_bytes(written.encode())
    (skill,) = catalogues.listing().skills
    assert (skill.name, skill.description) == ("one", description)


@pytest.mark.acceptance("S0-1", "S0-2", "S0-3")
def test_a_skill_has_an_id_absolute_paths_and_mtime(catalogues: Catalogues, add: Add, project: Path) -> None:
    directory = add(project, "one")
    add(project / "x", "one")
    os.utime(directory / "SKILL.md", ns=(1_700_000_000_250_000_000,) * 2)
    first, second = catalogues.listing(str(project / "x")).skills
    if first.dir != os.path.realpath(directory):
        first, second = second, first
    path = os.path.realpath(directory / "SKILL.md")
    assert (first.path, first.dir) == (path, os.path.dirname(path))
    assert first.mtimeMs == 1_700_000_000_250
    assert first.id == skill_id(path)
    assert first.id != second.id
    assert first in catalogues.listing().skills
    os.utime(directory / "SKILL.md", ns=(1_700_000_001_000_000_000,) * 2)
    (touched,) = catalogues.listing(force_reload=True).skills
    assert (touched.id, touched.mtimeMs) == (first.id, 1_700_000_001_000)


@pytest.mark.acceptance("S0-24")
def test_one_file_behind_two_paths_is_listed_once(catalogues: Catalogues, add: Add, project: Path, home: Path) -> None:
    directory = add(project, "one")
    (home / ".agents").mkdir()
    (home / ".agents" / "skills").symlink_to(directory.parent)
    (directory.parent / "z-link").symlink_to(directory)
    listing = catalogues.listing()
    assert (names(listing), listing.errors) == ([("repo", "one")], ())


@pytest.mark.acceptance("S0-24")
def test_a_renamed_link_in_the_project_does_not_hide_the_users_skill(
    catalogues: Catalogues, add: Add, project: Path, home: Path
) -> None:
    directory = add(home, "one")
    skills = project / ".agents" / "skills"
    skills.mkdir(parents=True)
    (skills / "nickname").symlink_to(directory)
    (skills / "zz-nickname").symlink_to(directory)
    listing = catalogues.listing()
    # It is served from the user's directory.
    assert (names(listing), listing.errors) == ([("user", "one")], ())
    # The name of the link counts, also after a change.
    elsewhere = add(project / "elsewhere", "two")
    (skills / "nickname").unlink()
    (skills / "nickname").symlink_to(elsewhere)
    listing = catalogues.listing()
    assert names(listing) == [("user", "one")]
    assert [error.path for error in listing.errors] == [str(elsewhere.resolve() / "SKILL.md")]
    (skills / "two").symlink_to(elsewhere)
    listing = catalogues.listing()
    assert (sorted(names(listing)), listing.errors) == ([("repo", "two"), ("user", "one")], ())


@pytest.mark.acceptance("S0-25")
def test_two_skills_with_one_name_are_both_listed(catalogues: Catalogues, add: Add, project: Path, home: Path) -> None:
    add(project, "one", "The project's.")
    add(home, "one", "The user's.")
    assert [skill.description for skill in catalogues.listing().skills] == ["The project's.", "The user's."]


@pytest.mark.acceptance("S0-76")
def test_a_catalogue_follows_changes_of_files(catalogues: Catalogues, add: Add, project: Path) -> None:
    gone = add(project, "gone")
    # A file changed just now is read again.
    os.utime(gone / "SKILL.md", ns=(1_700_000_000_000_000_001,) * 2)
    before = catalogues.listing()
    add(project, "new")
    shutil.rmtree(gone)
    assert names(catalogues.listing()) == [("repo", "new")]
    assert names(before) == [("repo", "gone")]


@pytest.mark.acceptance("S0-76")
def test_the_catalogue_of_the_hubs_project_uses_its_snapshot(
    add: Add, project: Path, home: Path, tmp_path: Path
) -> None:
    add(project, "first")
    add(home, "mine")
    settings = settings_of({"SKILLHUB_CWD": str(project), "SKILLHUB_ROOTS": "project,user", "SKILLHUB_TRUST": "all"})
    hub = make_hub(settings, background=False)
    try:
        own = make_catalogues(settings, hub.access, hub.views.snapshot)
        assert names(own.listing()) == [("repo", "first"), ("user", "mine")]
        add(project, "second")
        assert names(own.listing()) == [("repo", "first"), ("user", "mine")]
        assert [skill.name for skill in hub.skills()] == ["first", "mine"]
        assert names(own.listing(force_reload=True)) == [("repo", "first"), ("repo", "second"), ("user", "mine")]
        assert [skill.name for skill in hub.skills()] == ["first", "mine", "second"]
        (other := tmp_path / "other").mkdir()
        assert names(own.listing(str(other))) == [("user", "mine")]
    finally:
        hub.close()


def test_switched_links_and_new_markers_are_followed(catalogues: Catalogues, add: Add, project: Path) -> None:
    for version in ("v1", "v2"):
        add(project / version, f"of-{version}")
    (project / ".agents").symlink_to(project / "v1" / ".agents")
    assert names(catalogues.listing()) == [("repo", "of-v1")]
    (project / ".agents").unlink()
    (project / ".agents").symlink_to(project / "v2" / ".agents")
    assert names(catalogues.listing()) == [("repo", "of-v2")]
    (project / "inner").mkdir()
    assert names(catalogues.listing(str(project / "inner"))) == [("repo", "of-v2")]
    (project / "inner" / ".git").mkdir()
    assert names(catalogues.listing(str(project / "inner"))) == []


@pytest.mark.acceptance("S0-77")
def test_each_working_directory_has_its_own_catalogue(catalogues: Catalogues, add: Add, project: Path) -> None:
    add(project / "a", "for-a")
    add(project / "b", "for-b")
    assert names(catalogues.listing(str(project / "a"))) == [("repo", "for-a")]
    assert names(catalogues.listing(str(project / "b"))) == [("repo", "for-b")]
    assert names(catalogues.listing()) == []


def test_a_missing_working_directory_is_an_error(catalogues: Catalogues, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="is not a directory"):
        catalogues.listing(str(tmp_path / "none"))


@pytest.mark.acceptance("S0-5", "S0-41", "S0-42", "S0-73")
@pytest.mark.parametrize(
    ("entries", "share", "kept", "truncated"),
    [(200, 1.0, 3, False), (2, 1.0, 2, True), (200, 0.9, 3, True), (200, 0.3, 1, True), (3, 99.0, 3, False)],
)
def test_a_catalogue_is_truncated_by_entries_or_bytes(
    entries: int,
    share: float,
    kept: int,
    truncated: bool,
    add: Add,
    project: Path,
    home: Path,
    catalogues: Catalogues,
) -> None:
    for name in ("one", "two", "six"):
        add(project, name, "é" * 300)
    budget = Budget(entries, int(len(catalogues.initial().text.encode()) * share))
    cut = Catalogues(lambda _: find_project(str(project)), home=str(home), budget=budget, judge=agreed)
    catalogue = cut.initial().catalogue
    assert (len(catalogue.entries), catalogue.truncated) == (kept, truncated)
    assert len(cut.initial().text.encode()) <= (budget.max_bytes or 0)
    assert f'truncated="{str(truncated).lower()}"' in cut.initial().text
    assert ("call skill_search" in cut.initial().text) is truncated
    assert len(cut.listing().skills) == 3


@pytest.mark.acceptance("S3-30")
def test_skills_not_for_models_are_left_out_of_the_catalogue(catalogues: Catalogues, add: Add, project: Path) -> None:
    add(project, "hidden", extra="disable-model-invocation: true")
    add(project, "shown")
    listing = catalogues.listing()
    assert [skill.name for skill in listing.shown] == ["shown"]
    assert [skill.name for skill in catalogues.initial().catalogue.entries] == ["shown"]
    assert len(listing.skills) == 2


def test_untrusted_skills_are_listed_but_not_at_the_start_of_a_session(add: Add, project: Path, home: Path) -> None:
    add(project, "theirs")
    add(home, "mine")
    budget = Budget(9, 9_999)
    catalogues = Catalogues(lambda _: find_project(str(project)), home=str(home), budget=budget)
    assert [skill.name for skill in catalogues.listing().shown] == ["theirs", "mine"]
    assert [skill.name for skill in catalogues.initial().catalogue.entries] == ["mine"]
    assert "theirs" not in catalogues.initial().text
