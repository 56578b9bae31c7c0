"""The index state file: saving, loading, and files that cannot be used."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index import entry_columns, state_entries
from skillhub_mcp.index import state as state_module
from skillhub_mcp.index.keys import free_label
from skillhub_mcp.index.state import (
    STATE_FORMAT,
    IndexState,
    PublishedTable,
    RootState,
    load_state,
    read_state_head,
    remove_state,
    root_digest,
    save_state,
    state_path,
    state_stamp,
)
from skillhub_mcp.skills.model import FileStamp, HeaderShape, Skill, read_whole
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.skills.scanner import CachedSkillFile

ROOT = "/library"


@pytest.fixture(params=["read at once", "read late", "read as columns"], autouse=True)
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything holds of libraries of any size: of a large one most is read when somebody asks for it."""
    if request.param != "read at once":
        monkeypatch.setattr(state_entries, "_MANY_BYTES", 0)
    if request.param == "read as columns":
        monkeypatch.setattr(state_module, "_MANY_BYTES", 0)
        monkeypatch.setattr(entry_columns, "_ROWS", 1)
    return str(request.param)


def remembered(directory: str, *, root: str = ROOT, content: str = "c0ffee", **other: Any) -> CachedSkillFile:
    stamp = FileStamp(1_700_000_000_123_456_789, 42, content, 1_800_000_000_000_000_000)
    found = (Diagnostic("name-form", Severity.ERROR, "the name is 'Ä'", "rename it", 2),)
    values: dict[str, Any] = {
        "name": os.path.basename(directory),
        "description": "two\nlines, \u2028 and ünïcode",
        "category": None,
        "tags": (),
        "always_apply": False,
        "allowed_tools": (),
        "license": None,
        "compatibility": None,
        "metadata": {},
    }
    skill = Skill(directory=directory, root=root, diagnostics=found, stamp=stamp, **{**values, **other})
    return CachedSkillFile(root, stamp, skill, found)


def entries_of(path: str) -> str:
    """The file of entries that the state at `path` names."""
    with open(path, encoding="utf-8") as file:
        return os.path.join(os.path.dirname(path), json.load(file)["entries"][0])


def state_of(*entries: CachedSkillFile, missing: int = 0) -> IndexState:
    memory = {entry.skill.directory: entry for entry in entries if entry.skill is not None}
    roots: dict[str, RootState] = {}
    for root in dict.fromkeys(entry.root for entry in entries):
        own = {path: entry for path, entry in memory.items() if entry.root == root}
        roots[root] = RootState(
            root_digest(own, root), missing, own, free_label("hub", {one.label for one in roots.values()})
        )
    return IndexState(
        database="skills.lancedb",
        embedder="openai:small",
        schema=1,
        embedding="openai:small",
        table=PublishedTable("skills", "c0ffee"),
        table_version=7,
        roots=roots,
    )


@pytest.mark.parametrize(
    "directory",
    [
        "/library/plain",
        '/library/it\'s "quoted"',
        "/library/請求書 抽出",
        "/library/e\u0301 and é",
        "/library/new\nline and \x01",
        "/library/back\\slash",
        "/library/emoji 🦀",
        "/library",
        "/linked/elsewhere",
        "/library/not-utf-8-\udcff",
    ],
)
def test_a_state_comes_back_as_it_was_saved(tmp_path: Path, directory: str) -> None:
    entry = remembered(
        directory,
        category="writing",
        tags=("a b", "ü"),
        always_apply=True,
        allowed_tools=("Bash(git:*)",),
        license="MIT",
        compatibility="any",
        metadata={"deep": {"er": ["x", "1.10"]}},
        version="1.0",
        author="Ada",
        allowed_tools_text="Bash(git:*)",
        disable_model_invocation=True,
        user_invocable=False,
    )
    entry = entry._replace(shape=HeaderShape(12, 80, 3, "description"))
    state = state_of(entry, missing=3)
    save_state(str(tmp_path / "state.json"), state)
    assert load_state(str(tmp_path / "state.json")) == state


def test_a_refused_file_is_saved_with_its_reasons(tmp_path: Path) -> None:
    entry = remembered("/library/bad")
    refused = CachedSkillFile(entry.root, entry.stamp, None, entry.diagnostics)
    roots = {ROOT: RootState("0f", 0, {"/library/bad": refused}, "hub")}
    state = replace(state_of(), roots=roots)
    save_state(str(tmp_path / "state.json"), state)
    assert load_state(str(tmp_path / "state.json")) == state


# As the format before had it.
GOOD: dict[str, Any] = {
    "format": 4,
    "schema": 1,
    "database": "skills.lancedb",
    "embedder": "none",
    "embedding": "none",
    "table": "skills",
    "table_id": "c0ffee",
    "table_version": 3,
    "roots": {
        ROOT: {
            "hash": "h",
            "missing_vectors": 0,
            "files": {
                "/library/a": {
                    "mtime_ns": 1,
                    "size": 2,
                    "sha256": "s",
                    "read_at_ns": 3,
                    "skill": {"name": "a", "description": "b"},
                    "header": [2, 20, 3, None],
                }
            },
        }
    },
}


def without(*path: str, put: object = None) -> str:
    """GOOD as text, with the value at `path` replaced or, for None, left out."""
    changed = json.loads(json.dumps(GOOD))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    if put is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = put
    return json.dumps(changed)


FILE = ("roots", ROOT, "files", "/library/a")


def test_the_state_that_the_broken_ones_are_made_of_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(json.dumps(GOOD), encoding="utf-8")
    assert load_state(str(tmp_path / "state.json")) is not None


@pytest.mark.parametrize(
    "written",
    [
        "",
        "null",
        "[]",
        "{}",
        '"text"',
        "{" * 100_000,
        "[" * 100_000,
        "\0" * 4096,
        "not json at all",
        json.dumps(GOOD)[:-1],
        json.dumps(GOOD)[: len(json.dumps(GOOD)) // 2],
        json.dumps({"hash": "0f0f", "schema_version": "1", "provider": "none"}),
        without("format", put=STATE_FORMAT + 1),
        without("format", put=0),
        without("format"),
        without(*FILE, "header"),
        without(*FILE, "header", put=[1, "many", 2, None]),
        without("schema"),
        without("schema", put="one"),
        without("schema", put=float("inf")),
        without("database"),
        without("embedder"),
        without("table"),
        without("table", put=5),
        without("table_id"),
        without("table_version", put=[1]),
        without("table_version", put=float("inf")),
        without("roots", put=[]),
        without("roots", ROOT, put="x"),
        without("roots", ROOT, "files", put=[]),
        without("roots", ROOT, "missing_vectors"),
        without(*FILE, put=7),
        without(*FILE, "mtime_ns"),
        without(*FILE, "mtime_ns", put="yesterday"),
        without(*FILE, "size", put=1.5),
        without(*FILE, "read_at_ns", put=[]),
        without(*FILE, "skill", put=[]),
        without(*FILE, "skill", "name"),
        without(*FILE, "skill", "name", put=5),
        without(*FILE, "skill", "description", put={"a": 1}),
        without(*FILE, "diagnostics", put=[["name-form", "no such severity", "m", "h", 1]]),
        without(*FILE, "diagnostics", put=[["name-form"]]),
        without(*FILE, "diagnostics", put=[5]),
    ],
)
def test_a_file_that_is_no_state_means_that_there_is_no_state(tmp_path: Path, written: str) -> None:
    (tmp_path / "state.json").write_text(written, encoding="utf-8")
    assert load_state(str(tmp_path / "state.json")) is None


def test_bytes_that_are_no_text_mean_that_there_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_bytes(bytes(range(256)) * 20)
    assert load_state(str(tmp_path / "state.json")) is None


def test_a_missing_file_and_a_directory_in_its_place_mean_that_there_is_no_state(tmp_path: Path) -> None:
    assert load_state(str(tmp_path / "state.json")) is None
    assert state_stamp(str(tmp_path / "state.json")) is None
    (tmp_path / "state.json").mkdir()
    assert load_state(str(tmp_path / "state.json")) is None


def test_a_reader_of_the_old_file_sees_it_whole_while_it_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "state.json")
    save_state(path, state_of(remembered("/library/old")))
    with open(path, encoding="utf-8") as reader, open(entries_of(path), encoding="utf-8") as entries:
        save_state(path, state_of(remembered("/library/new")))
        assert json.load(reader)["table_version"] == 7
        assert json.loads(entries.read())[0] == "hub/old"
    replaced = load_state(path)
    assert replaced is not None
    assert list(replaced.memory) == ["/library/new"]


def test_a_save_that_fails_leaves_the_old_state_and_nothing_else(tmp_path: Path) -> None:
    path = str(tmp_path / "state.json")
    state = state_of(remembered("/library/a"))
    save_state(path, state)
    # A lone surrogate of the upper half can be in no file name: it stands for any text that cannot be written.
    with pytest.raises(UnicodeEncodeError):
        save_state(path, state_of(remembered("/library/\ud800")))
    assert load_state(path) == state
    assert sorted(os.listdir(tmp_path)) == sorted(["state.json", os.path.basename(entries_of(path))])


def test_what_a_killed_writer_left_half_written_is_overwritten(tmp_path: Path) -> None:
    path = str(tmp_path / "state.json")
    for name in ("state.json.new", "state.entries-00112233", "state.entries-44556677.new"):
        (tmp_path / name).write_text('{"format": 1, "ro', encoding="utf-8")
    save_state(path, state_of(remembered("/library/a")))
    assert load_state(path) is not None
    assert sorted(os.listdir(tmp_path)) == sorted(["state.json", os.path.basename(entries_of(path))])


def test_the_stamp_of_a_save_is_the_stamp_of_its_file(tmp_path: Path) -> None:
    path = str(tmp_path / "state.json")
    _, first = save_state(path, state_of(remembered("/library/a")))
    assert first == state_stamp(path)
    assert save_state(path, state_of(remembered("/library/a")))[1] != first


def test_the_state_is_its_owners_or_the_groups_that_shares_its_directory(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    save_state(str(path), state_of(remembered("/library/a")))
    assert [stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()] == [0o600, 0o600]
    (tmp_path / "other").touch()
    tmp_path.chmod(0o2770)
    save_state(str(path), state_of(remembered("/library/a")))
    assert len({stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}) == 1


def test_the_state_lies_beside_the_database() -> None:
    assert state_path("/home/me/.skillhub/skills.lancedb") == "/home/me/.skillhub/index_state.json"


@pytest.mark.acceptance("S2-48")
def test_the_hash_is_of_paths_times_sizes_and_contents_in_any_order() -> None:
    memory = {
        "/library/b": remembered("/library/b", content="bb"),
        "/library/a/x": remembered("/library/a/x", content="aa"),
    }
    lines = [f"{path}\0{1_700_000_000_123_456_789}\0{42}\0{content}" for path, content in (("a/x", "aa"), ("b", "bb"))]
    sums = sum(int(hashlib.sha256(line.encode()).hexdigest(), 16) for line in lines)
    assert root_digest(memory, ROOT) == f"{sums % 2**256:064x}"
    assert root_digest(dict(reversed(memory.items())), ROOT) == root_digest(memory, ROOT)


def test_a_hash_that_is_brought_up_to_date_is_the_one_made_anew() -> None:
    before = {name: remembered(f"/library/{name}") for name in ("/library/a", "/library/b", "/library/c")}
    after = {**before, "/library/a": remembered("/library/a", content="other"), "/library/d": remembered("/library/d")}
    del after["/library/b"]
    known = RootState(root_digest(before, ROOT), 0, before)
    assert root_digest(after, ROOT, known) == root_digest(after, ROOT)


@pytest.mark.acceptance("S2-48")
@pytest.mark.parametrize("field", ["mtime_ns", "size", "content_hash", "path"])
def test_any_difference_in_the_files_makes_another_hash(field: str) -> None:
    entry = remembered("/library/a")
    stamp = {"mtime_ns": entry.stamp.mtime_ns, "size": entry.stamp.size, "content_hash": entry.stamp.content_hash}
    path = "/library/a"
    if field == "path":
        path = "/library/b"
    else:
        stamp[field] = "other" if field == "content_hash" else stamp[field] + 1  # type: ignore[operator]  # an int here
    changed = CachedSkillFile(ROOT, FileStamp(**stamp, read_at_ns=1), None, ())  # type: ignore[arg-type]  # as above
    assert root_digest({path: changed}, ROOT) != root_digest({"/library/a": entry}, ROOT)


def test_a_library_that_is_moved_keeps_its_hash() -> None:
    here = {"/library/a": remembered("/library/a")}
    there = {"/elsewhere/a": remembered("/elsewhere/a", root="/elsewhere")}
    assert root_digest(here, "/library") == root_digest(there, "/elsewhere")


def test_a_directory_below_two_roots_is_in_the_state_of_both() -> None:
    outer = remembered("/library/team/a")
    inner = remembered("/library/team/a", root="/library/team")
    roots = {
        root: RootState("h", 0, {"/library/team/a": entry}) for root, entry in ((ROOT, outer), ("/library/team", inner))
    }
    state = replace(state_of(), roots=roots)
    assert state.memory_of([ROOT]) == {"/library/team/a": outer}
    assert state.memory_of(["/library/team"]) == {"/library/team/a": inner}
    assert state.memory_of(["/library/team", ROOT]) == {"/library/team/a": inner}
    assert state.memory_of(["/elsewhere"]) == {}


def test_a_state_is_on_the_disk_before_it_takes_the_place_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading: str
) -> None:
    # A machine that loses its power must find one of the two, not an empty file with the name of the new one.
    steps: list[str] = []

    def noted(step: str, real: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: object) -> None:
            steps.append(step)
            real(*arguments)

        return call

    monkeypatch.setattr(os, "fsync", noted("sync", os.fsync))
    monkeypatch.setattr(os, "replace", noted("replace", os.replace))
    save_state(str(tmp_path / "index_state.json"), state_of(remembered("/library/a")))
    # The entries, which count from the moment at which the state names them, and then the state.
    files = 3 if reading == "read as columns" else 2
    assert steps == ["sync", "replace"] * files


@pytest.mark.parametrize("name", ["../../precious", "a/b", "", "x" * 65, ".*", "skills\\n", None, 3])
def test_a_table_whose_name_leads_out_of_the_database_is_none(tmp_path: Path, name: object) -> None:
    path = tmp_path / "index_state.json"
    save_state(str(path), state_of(remembered("/library/a")))
    written = json.loads(path.read_text(encoding="utf-8"))
    written["table"] = name
    path.write_text(json.dumps(written), encoding="utf-8")
    head = read_state_head(str(path))
    assert head is None or head.table == ""
    assert load_state(str(path)) is None


# Appending


def changed(state: IndexState, *entries: CachedSkillFile, gone: tuple[str, ...] = ()) -> IndexState:
    """The state with other entries, by their directories, and without those that are gone."""
    (root,) = state.roots.values()
    memory = {path: entry for path, entry in root.memory.items() if path not in gone}
    memory |= {entry.skill.directory: entry for entry in entries if entry.skill is not None}
    return replace(state, roots={ROOT: replace(root, digest=root_digest(memory, ROOT, root), memory=memory)})


def test_of_a_change_nothing_but_the_change_is_written(tmp_path: Path) -> None:
    path = str(tmp_path / "state.json")
    many = [remembered(f"/library/{number}") for number in range(100)]
    first, _ = save_state(path, state_of(*many))
    entries = Path(entries_of(path))
    before, content = entries.stat(), entries.read_bytes()
    second, _ = save_state(path, changed(first, remembered("/library/new"), gone=("/library/7",)), before=first)
    assert entries.read_bytes().startswith(content)
    assert [json.loads(line)[0] for line in entries.read_bytes()[len(content) :].splitlines()] == ["hub/new", "hub/7"]
    assert entries.stat().st_ino == before.st_ino
    assert load_state(path) == second
    assert sorted(second.memory) == sorted({f"/library/{n}" for n in range(100) if n != 7} | {"/library/new"})


def test_who_knows_the_state_before_reads_what_was_appended_and_keeps_the_rest_as_the_same_objects(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "state.json")
    save_state(path, state_of(*(remembered(f"/library/{number}") for number in range(5))))
    known = load_state(path)
    assert known is not None
    assert known.entries is not None
    next_one = changed(known, remembered("/library/3", content="new"), gone=("/library/4",))
    second, _ = save_state(path, next_one, before=known)
    # What lies before it is not read.
    content = Path(entries_of(path)).read_bytes()
    Path(entries_of(path)).write_bytes(b"#" * known.entries.size + content[known.entries.size :])
    later = load_state(path, known)
    assert later == second
    assert later is not None
    kept = [directory for directory, entry in later.memory.items() if known.memory.get(directory) is entry]
    assert kept == ["/library/0", "/library/1", "/library/2"]


def test_what_was_appended_and_not_committed_is_not_there_and_is_overwritten(tmp_path: Path) -> None:
    path = str(tmp_path / "state.json")
    first, _ = save_state(path, state_of(remembered("/library/a")))
    with open(entries_of(path), "ab") as killed:
        killed.write(b'["hub/a"]\n["hub/half-wri')
    assert load_state(path) == first
    second, _ = save_state(path, changed(first, remembered("/library/b")), before=first)
    assert load_state(path) == second
    assert sorted(second.memory) == ["/library/a", "/library/b"]


def test_entries_are_written_anew_where_much_was_appended_and_the_old_ones_removed(tmp_path: Path) -> None:
    path = str(tmp_path / "state.json")
    state, _ = save_state(path, state_of(remembered("/library/a")))
    names = {entries_of(path)}
    for number in range(40):
        big = remembered("/library/a", description=f"{number} " * 5_000)
        state, _ = save_state(path, changed(state, big), before=state)
        names.add(entries_of(path))
        assert len(os.listdir(tmp_path)) == 2
        assert os.path.getsize(entries_of(path)) < 150_000
    assert 3 < len(names) < 20
    assert load_state(path) == state


def test_a_reader_whose_entries_were_written_anew_meanwhile_reads_the_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "state.json")
    save_state(path, state_of(remembered("/library/old")))
    real, late = json.load, [True]

    def load_and_wait(file: Any) -> Any:
        written = real(file)
        if late.pop() if late else False:
            save_state(path, state_of(remembered("/library/new")))
        return written

    monkeypatch.setattr(json, "load", load_and_wait)
    state = load_state(path)
    assert state is not None
    assert list(state.memory) == ["/library/new"]


@pytest.mark.parametrize("lost", ["gone", "cut", "other", "binary"])
def test_a_state_whose_entries_are_damaged_has_none_and_the_next_one_is_whole(tmp_path: Path, lost: str) -> None:
    path = str(tmp_path / "state.json")
    state, _ = save_state(path, state_of(remembered("/library/a"), remembered("/library/b")))
    entries = Path(entries_of(path))
    content = entries.read_bytes()
    if lost == "gone":
        entries.unlink()
    else:
        broken = {"cut": content[:-3], "other": content.replace(b"hub/", b"hog/"), "binary": bytes(len(content))}
        entries.write_bytes(broken[lost])
    bare = load_state(path)
    assert bare is not None
    assert (bare.entries_lost, bare.memory, bare.published) == (True, {}, state.published)
    assert {root: (own.label, own.missing_vectors) for root, own in bare.roots.items()} == {ROOT: ("hub", 0)}
    # Nothing is appended to what is no entries, and the hash is that of what is there.
    roots = {
        root: replace(own, memory=state.roots[root].memory, digest=root_digest(state.roots[root].memory, root, own))
        for root, own in bare.roots.items()
    }
    after, _ = save_state(path, replace(bare, roots=roots, entries_lost=False), before=bare)
    assert load_state(path) == after
    assert after.roots[ROOT].digest == root_digest(state.roots[ROOT].memory, ROOT)


@pytest.mark.parametrize(
    "entries",
    [["../x.entries-00112233", 1, 1], ["/tmp/x.entries-00112233", 1, 1], ["x", 1, 1], [5, 1, 1], ["x"], {}, None],
)
def test_a_state_whose_entries_lie_elsewhere_is_none(tmp_path: Path, entries: object) -> None:
    path = tmp_path / "state.json"
    save_state(str(path), state_of(remembered("/library/a")))
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "entries": entries}), encoding="utf-8")
    assert load_state(str(path)) is None


def test_two_states_in_one_directory_leave_each_other_their_entries(tmp_path: Path) -> None:
    one, two = str(tmp_path / "index_state.json"), str(tmp_path / "index_state.0123456789ab.json")
    for path in (one, two, one, two):
        save_state(path, state_of(remembered("/library/a")))
    assert len(os.listdir(tmp_path)) == 4
    remove_state(one)
    assert sorted(os.listdir(tmp_path)) == sorted([os.path.basename(two), os.path.basename(entries_of(two))])


def test_the_state_of_the_format_before_is_read_and_kept_in_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    state = load_state(str(path))
    assert state is not None
    saved, _ = save_state(str(path), state, before=state)
    assert saved.roots[ROOT].label == "hub"
    assert saved.roots[ROOT].digest == root_digest(state.memory, ROOT)
    assert load_state(str(path)) == saved
    assert load_state(str(path)).memory == state.memory  # type: ignore[union-attr]  # as the line above says


def test_a_root_that_moved_has_the_same_keys(tmp_path: Path) -> None:
    for name, root in (("here", "/here/skills"), ("there", "/there")):
        save_state(
            str(tmp_path / f"{name}.json"), state_of(remembered(f"{root}/a/b", root=root), remembered(root, root=root))
        )
    lines = [Path(entries_of(str(tmp_path / f"{name}.json"))).read_bytes() for name in ("here", "there")]
    assert [json.loads(line)[0] for line in lines[0].splitlines()] == ["hub/a/b", "hub"]
    assert [json.loads(line)[0] for line in lines[1].splitlines()] == ["hub/a/b", "hub"]


class Killed(BaseException):
    """Stands for a signal that ends the process: nothing that it does afterwards takes effect."""


@pytest.mark.parametrize("anew", [False, True])
def test_a_writer_that_is_killed_at_any_step_leaves_the_state_before_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading: str, *, anew: bool
) -> None:
    path = str(tmp_path / "state.json")
    state, _ = save_state(path, state_of(remembered("/library/a"), remembered("/library/b")))
    outcomes: list[bool] = []
    left = 0

    def mortal(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return real(*arguments, **named)

        return call

    for step in range(1, 40):
        before = state
        new = changed(state, remembered(f"/library/{step}"), gone=("/library/a",))
        with monkeypatch.context() as patch:
            for name in ("open", "fsync", "replace", "unlink", "fstat", "listdir", "chmod"):
                patch.setattr(os, name, mortal(getattr(os, name)))
            left = step
            try:
                save_state(path, new, before=None if anew else before)
            except Killed:
                done = False
            else:
                done = True
        found = load_state(path)
        assert found in (before, new)
        outcomes.append(found == new)
        # The next writer has what is there, and leaves nothing but that behind.
        state, _ = save_state(path, changed(found, remembered("/library/next")), before=found)
        assert load_state(path) == state
        if done:
            break
    assert done
    columns = (
        {os.path.basename(entries_of(path)).replace("entries", "columns")} if reading == "read as columns" else set()
    )
    assert set(os.listdir(tmp_path)) == {"state.json", os.path.basename(entries_of(path)), *columns}
    assert {True, False} == set(outcomes)


@pytest.mark.skipif(not hasattr(os, "pread"), reason="all is read at once where a file cannot be read at a place")
def test_most_of_a_skill_of_a_large_library_is_read_when_somebody_asks_for_it(tmp_path: Path, reading: str) -> None:
    path = str(tmp_path / "state.json")
    long = remembered("/library/long", description="many words " * 1_000, metadata={"a": "b"})
    pinned = remembered("/library/pinned", always_apply=True)
    saved, _ = save_state(path, state_of(long, remembered("/library/a"), pinned))
    read = load_state(path)
    assert read is not None
    entries = Path(entries_of(path))
    skills = {directory: entry.skill for directory, entry in read.memory.items()}
    assert {directory: skill and skill.name for directory, skill in skills.items()} == {
        "/library/long": "long",
        "/library/a": "a",
        "/library/pinned": "pinned",
    }
    # Another process writes the entries anew; this one goes on reading what it began with.
    save_state(path, replace(saved, roots={}))
    assert not entries.exists()
    assert skills["/library/long"] == long.skill
    assert pickle.loads(pickle.dumps(skills["/library/a"])) == remembered("/library/a").skill
    # And writes it anew without having read it.
    again = load_state(path)
    assert again is not None
    save_state(path, read)
    assert load_state(path) == saved


@pytest.mark.skipif(not hasattr(os, "pread"), reason="all is read at once where a file cannot be read at a place")
def test_of_a_large_library_what_was_read_of_some_skills_stays_and_of_others_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_entries, "_MANY_BYTES", 0)
    monkeypatch.setattr(state_entries, "_KEPT_SKILLS", 2)
    path = str(tmp_path / "state.json")
    written = [remembered(f"/library/{name}", license="MIT", metadata={"of": name}) for name in "abc"]
    save_state(path, state_of(*written))
    read = load_state(path)
    assert read is not None
    places: list[int] = []
    pread = os.pread

    def noted(file: int, size: int, at: int) -> bytes:
        places.append(at)
        return pread(file, size, at)

    monkeypatch.setattr(os, "pread", noted)
    for names, reads in (("aab", 2), ("ab", 0), ("c", 1), ("bc", 0), ("a", 1), ("abc", 2)):
        places.clear()
        for name in names:
            skill = read.memory[f"/library/{name}"].skill
            assert skill is not None
            assert (skill.license, skill.metadata, skill.description) == (
                "MIT",
                {"of": name},
                "two\nlines, \u2028 and ünïcode",
            )
            assert read_whole(skill) == skill
        assert len(places) == reads


@pytest.mark.skipif(not hasattr(os, "pread"), reason="all is read at once where a file cannot be read at a place")
def test_what_is_found_to_be_damaged_later_is_told_and_can_be_told_apart(tmp_path: Path, reading: str) -> None:
    path = str(tmp_path / "state.json")
    save_state(path, state_of(remembered("/library/a"), remembered("/library/b", license="MIT")))
    entries = Path(entries_of(path))
    entries.write_bytes(entries.read_bytes().replace(b'"license":', b'"license" '))
    read = load_state(path)
    assert read is not None
    if reading == "read at once":
        assert read.entries_lost
        return
    skill = read.memory["/library/b"].skill
    assert skill is not None
    with pytest.raises(IndexUnavailable, match="is lost"):
        str(skill.description)
    assert [directory for directory, entry in read.memory.items() if not state_entries.can_be_read(entry)] == [
        "/library/b"
    ]
