"""A skill held against the lock."""

from __future__ import annotations

from skillhub_mcp.locks.file_digests import Differences, FileDigest, differences, digest_of
from skillhub_mcp.locks.lock_file import LockedByHub

FILES = {"SKILL.md": FileDigest("a" * 64, 1, False), "run": FileDigest("b" * 64, 2, True)}
LOCKED = LockedByHub(digest_of(FILES), executable=("run",))


def test_what_is_as_it_was_locked_has_no_difference_whether_or_not_it_is_known_what_each_file_was() -> None:
    assert not differences(LOCKED, FILES, FILES)
    assert not differences(LOCKED, FILES, None)


def test_every_file_that_differs_is_named() -> None:
    files = {"SKILL.md": FileDigest("c" * 64, 1, False), "new": FileDigest("d" * 64, 1, False)}
    found = differences(LOCKED, files, FILES)
    assert found == Differences(changed=("SKILL.md",), added=("new",), missing=("run",))
    assert found.first == "SKILL.md"


def test_a_turned_bit_is_a_difference_but_where_a_system_has_none() -> None:
    files = {**FILES, "run": FileDigest("b" * 64, 2, False)}
    assert differences(LOCKED, files, None) == Differences(modes=("run",))
    assert not differences(LOCKED, files, None, modes=False)


def test_what_is_no_regular_file_is_held_against_the_lock_itself() -> None:
    locked = LockedByHub(digest_of(FILES), executable=("run",), irregular={"own": "-> run"})
    link, pipe = (FileDigest("", 0, False, irregular=what) for what in ("-> run", "FIFO"))
    assert not differences(locked, {**FILES, "own": link}, None)
    found = differences(locked, {**FILES, "own": pipe, "new": link}, None)
    assert (found.changed, found.added, found.unknown) == (("own",), ("new",), False)
    assert [found.shown(path) for path in ("own", "new", "run")] == [
        "own (FIFO)",
        "new (-> run)",
        "run",
    ]
    gone = differences(locked, FILES, None)
    assert (gone.missing, gone.shown("own")) == (("own",), "own (-> run)")


def test_a_link_in_the_place_of_a_file_is_one_difference_and_so_is_a_file_in_that_of_a_link() -> None:
    link = FileDigest("", 0, False, irregular="-> /etc/passwd")
    found = differences(LOCKED, {**FILES, "run": link}, FILES)
    assert (found.changed, found.missing, found.added) == (("run",), (), ())
    assert found.shown("run") == "run (-> /etc/passwd)"
    before = {"SKILL.md": FILES["SKILL.md"]}
    ours = LockedByHub(digest_of(before), irregular={"run": "-> /etc/passwd"})
    back = differences(ours, FILES, before)
    assert (back.changed, back.missing, back.added) == (("run",), (), ())


def test_files_that_the_lock_does_not_have_name_no_difference() -> None:
    other = {"SKILL.md": FileDigest("e" * 64, 1, False)}
    assert differences(LOCKED, other, other) == Differences(unknown=True)
    assert differences(LOCKED, other, None).first == ""
