"""The registry: accepted skills, the report on the others, and minimal reading."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.skills.conftest import AN_HOUR_NS

from skillhub_mcp import build_index, refresh_index
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.skills.admission import REGISTRY_LENIENT, REGISTRY_STRICT, Admission
from skillhub_mcp.skills.discovery import SkipReason
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.registry import AnyRoot, Controls, Meta, Registry, RegistryIndex, as_roots, as_source
from skillhub_mcp.skills.roots import Source, distinct_roots

MtimeSetter = Callable[[Path, int], None]
SECOND = 1_000_000_000


def names(index: RegistryIndex) -> list[str]:
    return [entry.name for entry in index.skills]


def ignored(index: RegistryIndex) -> dict[str, str]:
    """The rule or reason for each path without a skill, by base name."""
    return {os.path.basename(place.path): place.rule or place.reason for place in index.report.ignored}


@pytest.fixture
def build(skills_dir: Path) -> Callable[..., RegistryIndex]:
    """Build the index of `skills_dir`, or of the given roots."""

    def build_registry_index(*roots: AnyRoot, admission: Admission = REGISTRY_STRICT) -> RegistryIndex:
        return Registry(roots or [str(skills_dir)], admission=admission).build_index()

    return build_registry_index


Builder = Callable[..., RegistryIndex]


# Roots


@pytest.mark.acceptance("S3-1", "S3-33")
def test_the_default_roots_keep_their_order_and_may_be_missing(
    tmp_path: Path, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, repo = tmp_path / "home", tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    write_skill("mine", root=home / ".agent" / "skills")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SKILLHUB_ROOTS", "project,user,builtin")
    index = build_index(cwd=str(repo))
    own = [root for root in index.report.roots if os.path.basename(os.path.dirname(root.path)) != ".agents"]
    assert [root.source for root in own] == [Source.PROJECT, Source.USER, Source.BUILTIN]
    assert [root.path for root in own[:2]] == [
        os.path.realpath(repo / ".agent" / "skills"),
        os.path.realpath(home / ".agent" / "skills"),
    ]
    assert [(root.exists, root.found > 0) for root in own] == [(False, False), (True, True), (True, True)]
    assert [root.priority for root in index.report.roots] == [1, 2, 3, 4, 5]
    assert "mine" in names(index)
    assert index.report.ignored_counts == {}
    assert index.report.seconds > 0


@pytest.mark.acceptance("S3-2")
def test_roots_can_be_passed_in_any_form(tmp_path: Path) -> None:
    real = os.path.realpath(tmp_path)
    given = as_roots(
        [
            {"path": f"{tmp_path}/b", "source": "builtin", "priority": 3},
            {"path": f"{tmp_path}/u", "source": Source.USER, "priority": 2},
            f"{tmp_path}/h",
            {"path": f"{tmp_path}/p", "source": "project"},
        ]
    )
    assert [(root.source, root.path, root.priority) for root in given] == [
        # Equal priorities keep their order.
        (Source.HUB, f"{real}/h", 1),
        (Source.PROJECT, f"{real}/p", 2),
        (Source.USER, f"{real}/u", 3),
        (Source.BUILTIN, f"{real}/b", 4),
    ]
    chosen = distinct_roots((Source.USER, f"{tmp_path}/{name}") for name in "za")
    assert as_roots(chosen) == chosen
    assert as_roots([]) == ()
    mixed = as_roots([chosen[1], {"path": f"{tmp_path}/first", "priority": 0}, chosen[0]])
    assert [root.path for root in mixed] == [f"{real}/first", f"{real}/z", f"{real}/a"]


@pytest.mark.acceptance("S3-2", "S3-18")
def test_priority_decides_over_order(tmp_path: Path, write_skill: SkillWriter, build: Builder) -> None:
    for root in ("low", "high"):
        write_skill("same", f"From {root}.", root=tmp_path / root)
    index = build({"path": str(tmp_path / "low"), "priority": 9}, {"path": str(tmp_path / "high"), "priority": 2})
    assert [entry.description for entry in index.skills] == ["From high."]


@pytest.mark.acceptance("S3-20")
@pytest.mark.parametrize("source", ["", "PROJECT", "repo", 3, None])
def test_an_unknown_source_is_refused_with_the_known_ones(
    source: str | None, write_skill: SkillWriter, skills_dir: Path
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        as_source(source)
    assert "project, user, hub, builtin" in caught.value.message
    registry = Registry([str(skills_dir)])
    if source is not None:
        with pytest.raises(InvalidArgument):
            registry.find("a", source=source)
        with pytest.raises(InvalidArgument):
            registry.skills(source=source)


# Entries


@pytest.mark.acceptance("S3-3", "S3-5", "S3-11")
def test_an_entry_has_the_documented_fields(write_skill: SkillWriter, skills_dir: Path) -> None:
    skill = write_skill(
        "pdf-form-filler",
        "Extract and fill PDF form fields using Python",
        extra="version: 1.0\nauthor: team\ndisable-model-invocation: true\nuser-invocable: no\n"
        "allowed-tools:\n- read_file\n- run_script",
    )
    index = build_index([{"path": str(skills_dir), "source": "project"}])
    (entry,) = index.skills
    assert (entry.name, entry.description) == ("pdf-form-filler", "Extract and fill PDF form fields using Python")
    assert (entry.source, entry.path) == (Source.PROJECT, os.path.realpath(skill))
    assert entry.controls == Controls(True, False, ("read_file", "run_script"))
    assert entry.meta == Meta("1.0", "team")
    again = refresh_index(index)
    assert again.skills == index.skills
    assert again.report.digest == index.report.digest


@pytest.mark.acceptance("S3-4")
def test_controls_have_defaults(write_skill: SkillWriter, build: Builder) -> None:
    write_skill("silent")
    write_skill("empty", extra="disable-model-invocation:\nuser-invocable:\nallowed-tools:\nversion:\nauthor:")
    for entry in build().skills:
        assert entry.controls == Controls(disable_model_invocation=False, user_invocable=True, allowed_tools=())
        assert entry.meta == Meta(None, None)


@pytest.mark.acceptance("S3-11")
@pytest.mark.parametrize(
    ("extra", "meta"),
    [
        ("version: 1.0", Meta("1.0", None)),
        ("version: 1.10", Meta("1.10", None)),
        ("version: 2024-01-01\nauthor: 7", Meta("2024-01-01", "7")),
        ("metadata:\n  version: '2'\n  author: me", Meta("2", "me")),
        ("version: 3\nmetadata: {version: '2'}", Meta("3", None)),
        ("version: [1]\nauthor: {a: b}", Meta(None, None)),
    ],
)
def test_version_and_author_are_read_at_the_top_or_under_metadata(
    extra: str, meta: Meta, write_skill: SkillWriter, build: Builder
) -> None:
    write_skill("a", extra=extra)
    assert [entry.meta for entry in build().skills] == [meta]


# Found and skipped


@pytest.mark.acceptance("S3-7")
def test_a_skill_needs_a_name_in_its_frontmatter(write_skill: SkillWriter, build: Builder) -> None:
    named = write_skill("in-frontmatter", directory="in-the-tree")
    write_skill("x", frontmatter="description: Nobody knows my name.", directory="nameless")
    write_skill("x", frontmatter="name:\ndescription: Mine is empty.", directory="empty-name")
    index = build()
    assert [(entry.name, entry.path) for entry in index.skills] == [("in-frontmatter", os.path.realpath(named))]
    assert ignored(index) == {"nameless": "name-missing", "empty-name": "name-missing"}


@pytest.mark.acceptance("S3-8", "S3-9", "S3-10", "S3-34")
def test_every_skipped_path_is_counted_by_reason_and_named(
    write_skill: SkillWriter, build: Builder, skills_dir: Path
) -> None:
    write_skill("good")
    write_skill("hidden", directory=".hidden/skill")
    write_skill("dotted", directory=".hidden-too")
    write_skill("foreign", directory="node_modules/skill")
    write_skill("deep", directory="a/b/c/d/e/f/g")
    write_skill("broken", frontmatter="name: 'open")
    write_skill("broken-too", frontmatter="name: 'open")
    write_skill("silent", frontmatter="name: silent")
    (skills_dir / "README.md").write_text("For people.", encoding="utf-8")
    (skills_dir / ".DS_Store").write_bytes(b"\0")
    (skills_dir / "a/b/c/d/e/f/bare").mkdir()
    (skills_dir / "empty").mkdir()
    (skills_dir / "notes").mkdir()
    (skills_dir / "notes" / "note.md").write_text("Not a skill.", encoding="utf-8")
    (skills_dir / "loop").symlink_to("loop")
    index = build()
    report = index.report
    assert names(index) == ["good"]
    assert (report.found, report.valid) == (4, 1)
    assert report.ignored_counts == {
        "cannot be read (Too many levels of symbolic links)": 1,
        "is a skill more than 6 levels below its root": 1,
        "description-missing": 1,
        "yaml-invalid": 2,
        SkipReason.HIDDEN.value: 2,
        SkipReason.SKIPPED.value: 1,
        SkipReason.TOO_DEEP.value: 1,
        SkipReason.NO_SKILL.value: 3,
        SkipReason.NO_DIRECTORY.value: 3,
    }
    assert list(report.ignored_counts) == sorted(report.ignored_counts)
    # Each count has its paths, by rule or reason.
    assert Counter(place.rule or place.reason for place in report.ignored) == report.ignored_counts
    where = {os.path.relpath(place.path, os.path.realpath(skills_dir)): place for place in report.ignored}
    deep = ("a/b/c/d/e/f", "a/b/c/d/e/f/bare", "a/b/c/d/e/f/g")
    files = ("README.md", ".DS_Store", "notes/note.md")
    refused = ("broken", "broken-too", "silent")
    assert set(where) == {*deep, *files, *refused, ".hidden", ".hidden-too", "node_modules", "empty", "notes", "loop"}
    assert (where["broken"].rule, where["silent"].rule) == ("yaml-invalid", "description-missing")
    assert all(place.reason and os.path.isabs(place.path) for place in report.ignored)


@pytest.mark.acceptance("S2-53", "S3-15")
def test_one_bad_skill_does_not_stop_the_good_ones(write_skill: SkillWriter, build: Builder) -> None:
    write_skill("good")
    bad = {
        "yaml-invalid": b"---\nname: 'open\n---\n",
        "file-binary": b"---\nname: \0\ndescription: x\n---\n",
        "frontmatter-missing": b"# No frontmatter\n",
        "frontmatter-unclosed": b"---\nname: x\ndescription: y\n",
        "yaml-not-mapping": b"---\n- a\n---\n",
        "yaml-too-complex": b"---\na: " + b"[" * 50_000 + b"\n---\n",
        "description-missing": b"---\nname: description-missing\n---\n",
    }
    for name, content in bad.items():
        (write_skill(name) / "SKILL.md").write_bytes(content)
    index = build()
    assert names(index) == ["good"]
    assert ignored(index) == {name: name for name in bad}
    assert (index.report.found, index.report.valid) == (1 + len(bad), 1)


@pytest.mark.acceptance("S3-14")
@pytest.mark.parametrize("admission", [REGISTRY_STRICT, REGISTRY_LENIENT])
def test_nested_structures_cost_at_most_their_own_skill(
    admission: Admission, write_skill: SkillWriter, build: Builder
) -> None:
    write_skill("plain")
    write_skill("nested", extra="hooks:\n  before:\n  - {run: [a, {b: c}]}\n? [x, y]\n: z\nmetadata:\n  deep: {er: 1}")
    write_skill("list", frontmatter="- name: list\n- description: x")
    write_skill("map-name", frontmatter="name: {a: b}\ndescription: x")
    write_skill("bomb", frontmatter="a: &a [x, x]\nb: &b [*a, *a]\nname: bomb\ndescription: &d [*d]")
    index = build(admission=admission)
    assert {"nested", "plain"} <= set(names(index))
    assert {"list", "bomb"} <= set(ignored(index))


@pytest.mark.acceptance("S3-16")
def test_lenient_mode_accepts_a_missing_description_and_says_so(write_skill: SkillWriter, build: Builder) -> None:
    write_skill("silent", frontmatter="name: silent")
    write_skill("x", frontmatter="description: Has no name.", directory="by-directory")
    write_skill("broken", frontmatter="name: 'open")
    assert names(build()) == []
    index = build(admission=REGISTRY_LENIENT)
    assert names(index) == ["by-directory", "silent"]
    silent = index.skills[1]
    assert silent.description == ""
    (found,) = (d for d in silent.diagnostics if d.rule == "description-missing")
    assert found.hint
    assert ignored(index) == {"broken": "yaml-invalid"}


# Name conflicts


@pytest.mark.acceptance("S3-18", "S3-20", "S3-21", "S3-35")
def test_the_higher_source_wins_and_each_loser_is_reported(
    tmp_path: Path, write_skill: SkillWriter, written_at: MtimeSetter
) -> None:
    written = {}
    for age, source in enumerate(("builtin", "hub", "user", "project"), 1):
        skill = write_skill("same", f"From {source}.", root=tmp_path / source, extra=f"version: 1.{age}")
        # The lower priority has the newer file: between roots, age does not count.
        written_at(skill, (1_000_000 - age) * SECOND)
        written[source] = os.path.realpath(skill)
    # Priorities decide, not the order of the arguments.
    order = {"project": 1, "user": 2, "hub": 3, "builtin": 4}
    registry = Registry(
        [
            {"path": str(tmp_path / source), "source": source, "priority": order[source]}
            for source in ("hub", "builtin", "project", "user")
        ]
    )
    index = registry.build_index()
    assert [(entry.name, entry.description) for entry in index.skills] == [("same", "From project.")]
    assert (index.report.found, index.report.valid) == (4, 1)
    lost = {conflict.overridden.source.value: conflict for conflict in index.report.conflicts}
    assert list(lost) == sorted(["builtin", "hub", "user"], key=lambda source: written[source])
    for source, conflict in lost.items():
        assert conflict.name == "same"
        assert (conflict.winner.source, conflict.winner.path) == (Source.PROJECT, written["project"])
        assert conflict.winner.meta.version == "1.4"
        assert conflict.overridden.path == written[source]
        assert (conflict.overridden.meta.version or "").startswith("1.")
        assert conflict.reason == "the winner's root comes first"
    for source, path in written.items():
        found = registry.find("same", source=source)
        assert found is not None
        assert (found.description, found.source.value) == (f"From {source}.", source)
        assert registry.skills(source=source) == (found,)
        assert registry.find(f"same@{source}") == found
        assert registry.find(path) == found
        assert registry.find(os.path.join(path, "SKILL.md")) == found
    assert registry.find("same") == index.skills[0]
    assert registry.find("other") is None
    assert registry.find("other", source="user") is None


# Snapshots, digests and disk access


@pytest.mark.acceptance("S3-26")
def test_the_disk_is_not_read_between_a_build_and_a_refresh(
    write_skill: SkillWriter, skills_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("first")
    registry = Registry([str(skills_dir)])
    index = registry.build_index()
    write_skill("second")
    shutil.rmtree(skills_dir / "first")
    with monkeypatch.context() as closed:
        for name in ("scandir", "open", "read", "stat", "listdir"):
            closed.setattr(os, name, _no_disk)
        assert [entry.name for entry in registry.skills()] == ["first"]
        assert registry.skills(source="hub") == registry.skills()
        assert registry.find("first") == index.skills[0]
        assert registry.find("second") is None
        assert registry.snapshot.digest == index.report.digest
    assert names(registry.refresh_index()) == ["second"]


def _no_disk(*_: object, **__: object) -> None:
    raise AssertionError("the disk was looked at")


@pytest.mark.acceptance("S3-27")
def test_an_index_that_was_returned_does_not_change(write_skill: SkillWriter, skills_dir: Path) -> None:
    write_skill("a", "The first words.")
    write_skill("gone")
    registry = Registry([str(skills_dir)])
    index, snapshot = registry.build_index(), registry.snapshot
    before = (repr(index), repr(snapshot), index.report.digest)
    write_skill("a", "Other words.")
    write_skill("new")
    shutil.rmtree(skills_dir / "gone")
    after = registry.refresh_index()
    assert (repr(index), repr(snapshot), snapshot.digest) == before
    assert Names(snapshot).find("gone") is not None
    assert names(after) == ["a", "new"]
    assert after.report.digest != index.report.digest
    with pytest.raises(AttributeError):
        index.skills = after.skills  # type: ignore[misc]  # that it is frozen is what is tried


@pytest.mark.acceptance("S3-28", "S3-29", "S3-36")
def test_equal_libraries_have_one_digest_wherever_they_are(
    tmp_path: Path, write_skill: SkillWriter, skills_dir: Path, build: Builder
) -> None:
    write_skill("a", category="dev", tags="one, two", extra="version: 1.0\nauthor: me")
    write_skill("Wild Name", directory="deep/b", body="The body of one.")
    write_skill("linked", root=tmp_path / "elsewhere")
    (skills_dir / "link").symlink_to(tmp_path / "elsewhere" / "linked")
    before = build().report.digest
    assert Registry([str(skills_dir)]).refresh_index().report.digest == before
    copy = tmp_path / "a longer way" / "to" / "the copy"
    shutil.copytree(skills_dir, copy, symlinks=False, copy_function=shutil.copyfile)
    shutil.copytree(copy / "link", tmp_path / "store" / "linked")
    shutil.rmtree(copy / "link")
    (copy / "link").symlink_to(tmp_path / "store" / "linked")
    os.utime(copy / "a" / "SKILL.md", (1_000, 1_000))
    assert build(str(copy)).report.digest == before
    assert before.startswith("sha256:")
    # The index has neither bodies nor refused skills.
    write_skill("Wild Name", directory="deep/b", body="Another body.")
    write_skill("refused", frontmatter="name: refused")
    assert build().report.digest == before


# Refreshes


@pytest.fixture
def library(write_skill: SkillWriter, written_at: MtimeSetter, skills_dir: Path) -> Registry:
    """A registry of three old skills, one of them in a category directory."""
    for name, directory in (("one", "one"), ("two", "two"), ("inner", "category/inner")):
        written_at(write_skill(name, directory=directory), AN_HOUR_NS)
    registry = Registry([str(skills_dir)])
    assert names(registry.build_index()) == ["inner", "one", "two"]
    return registry


def assert_same_as_rebuilt(registry: Registry) -> None:
    """Assert that a full refresh equals a new registry."""
    refreshed, fresh = registry.refresh_index(), Registry(registry.roots).build_index()
    assert refreshed.skills == fresh.skills
    assert refreshed.report.digest == fresh.report.digest
    assert refreshed.report.ignored_counts == fresh.report.ignored_counts
    assert refreshed.report.conflicts == fresh.report.conflicts
    assert (refreshed.report.found, refreshed.report.valid) == (fresh.report.found, fresh.report.valid)


@pytest.mark.acceptance("S3-25")
@pytest.mark.parametrize("named", ["one", "one/SKILL.md", "one/references/deep/file.md", "one/../one"])
def test_a_change_within_a_skill_rereads_only_that_skill(
    named: str, library: Registry, write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("one", "Other words.")
    write_skill("two", "Nobody is to see this yet.")
    write_skill("new")
    shutil.rmtree(skills_dir / "category")
    index = library.refresh_index([str(skills_dir / named)])
    assert {entry.name: entry.description for entry in index.skills} == {
        "inner": "Does one thing well. Use when that thing is wanted.",
        "one": "Other words.",
        "two": "Does one thing well. Use when that thing is wanted.",
    }
    assert_same_as_rebuilt(library)


@pytest.mark.acceptance("S3-25")
@pytest.mark.parametrize("named", ["new", "new/SKILL.md", "far/away/newer/SKILL.md", "far/away", "far"])
def test_a_new_skill_is_found_by_its_file_or_any_parent(
    named: str, library: Registry, write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("new")
    write_skill("newer", directory="far/away/newer")
    index = library.refresh_index([str(skills_dir / named)])
    assert names(index) == ["inner", "new", "newer", "one", "two"]
    assert_same_as_rebuilt(library)


@pytest.mark.acceptance("S3-25")
@pytest.mark.parametrize(
    ("removed", "named", "left"),
    [
        ("one", "one", ["inner", "two"]),
        ("one", "one/SKILL.md", ["inner", "two"]),
        ("one/SKILL.md", "one/SKILL.md", ["inner", "two"]),
        ("category", "category", ["one", "two"]),
        ("category", "category/inner/SKILL.md", ["one", "two"]),
        ("category/inner", "category", ["one", "two"]),
    ],
)
def test_deleted_skills_are_removed(
    removed: str, named: str, left: list[str], library: Registry, skills_dir: Path
) -> None:
    target = skills_dir / removed
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()
    assert names(library.refresh_index([str(skills_dir / named)])) == left
    assert_same_as_rebuilt(library)


@pytest.mark.acceptance("S3-25")
def test_an_empty_list_of_changes_reads_nothing(library: Registry, write_skill: SkillWriter) -> None:
    write_skill("new")
    assert names(library.refresh_index([])) == ["inner", "one", "two"]
    assert names(library.refresh_index()) == ["inner", "new", "one", "two"]


def test_an_index_from_elsewhere_cannot_be_refreshed(build: Builder) -> None:
    with pytest.raises(InvalidArgument):
        refresh_index(RegistryIndex((), build().report))


# Reading


def watch_opens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that records the name of every opened file."""
    opened: list[str] = []
    plainly = os.open

    def noting(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if not flags & os.O_DIRECTORY:
            opened.append(os.path.basename(path))
        return plainly(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", noting)
    return opened


def watch_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that records the size of every read."""
    sizes: list[int] = []
    plainly = os.read

    def counting(descriptor: int, count: int) -> bytes:
        part = plainly(descriptor, count)
        sizes.append(len(part))
        return part

    monkeypatch.setattr(os, "read", counting)
    return sizes


@pytest.mark.slow
@pytest.mark.acceptance("S3-6", "S3-38")
@pytest.mark.parametrize("kind", ["sparse", "binary", "text"])
def test_a_huge_body_is_neither_read_nor_indexed(
    kind: str, write_skill: SkillWriter, build: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_skill("huge", "Has a body of many megabytes.", body="") / "SKILL.md"
    with file.open("ab") as body:
        if kind == "sparse":
            body.truncate(15_000_000)
        else:
            body.write((b"\xff\x00\x01" * 4 if kind == "binary" else b"UNSPEAKABLE ") * 1_250_000)
    read = watch_reads(monkeypatch)
    index = build()
    (entry,) = index.skills
    assert entry.description == "Has a body of many megabytes."
    assert 0 < sum(read) <= 2_048
    assert "UNSPEAKABLE" not in repr(index)
    assert entry.diagnostics == ()


@pytest.mark.acceptance("S3-6")
@pytest.mark.parametrize("length", [1_900, 2_040, 2_048, 4_000, 4_096, 60_000])
def test_frontmatter_longer_than_the_first_read_is_read_completely(
    length: int, write_skill: SkillWriter, build: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    description = "words " * (length // 6) + "end"
    write_skill("long", description, extra="license: MIT", body="UNSPEAKABLE " * 100_000)
    read = watch_reads(monkeypatch)
    index = build()
    (entry,) = index.skills
    assert entry.description == description
    assert sum(read) <= 2 * (length + 2_048)
    assert "UNSPEAKABLE" not in repr(index)


@pytest.mark.acceptance("S3-38")
def test_only_skill_files_are_read_and_nothing_is_run_or_granted(
    write_skill: SkillWriter, build: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill = write_skill(
        "a",
        body="Run scripts/mark.sh, and read references/more.md.",
        extra="allowed-tools: Bash(*)",
        files={"scripts/mark.sh": "#!/bin/sh\ntouch ran\n", "references/more.md": "UNSPEAKABLE"},
    )
    (skill / "scripts" / "mark.sh").chmod(0o755)
    for name in ("Popen", "run"):
        monkeypatch.setattr(subprocess, name, _no_disk)
    opened = watch_opens(monkeypatch)
    index = build()
    assert opened == ["SKILL.md"]
    assert not (skill / "ran").exists()
    # Requested tools are passed on and grant nothing.
    assert index.skills[0].controls.allowed_tools == ("Bash(*)",)
    for hidden in ("UNSPEAKABLE", "mark.sh"):
        assert hidden not in repr(index)
