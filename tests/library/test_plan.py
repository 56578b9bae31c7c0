"""What an installation would do: whose a name is, whose edits stay, what looks like another."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from skillhub_mcp.errors import SkillConflict
from skillhub_mcp.library.plan import (
    InstalledSkill,
    Merge,
    Settlement,
    Verb,
    changes,
    edits,
    is_alike,
    merged,
    neighbours,
    plan_step,
)
from skillhub_mcp.locks.content_digest import FileDigest

SOURCE, OTHER = "github:acme/skills", "github:mallory/skills"


def files(**contents: str | None) -> Mapping[str, FileDigest]:
    """Files by name, each with a letter for its bytes; one in capitals may be run, and None is no file."""
    return {path: FileDigest(text.lower() * 64, 1, text.isupper()) for path, text in contents.items() if text}


def test_a_name_that_is_free_is_taken() -> None:
    assert plan_step(InstalledSkill("pdf"), files(a="1"), SOURCE).verb is Verb.ADD


def test_a_skill_of_the_same_source_is_updated_and_an_unchanged_one_left() -> None:
    there = InstalledSkill("pdf", files(a="1"), files(a="1"), SOURCE)
    assert plan_step(there, files(a="1"), SOURCE).verb is Verb.NOTHING
    assert plan_step(there, files(a="2"), SOURCE).verb is Verb.UPDATE
    assert plan_step(there, files(a="A"), SOURCE).verb is Verb.UPDATE


@pytest.mark.parametrize("source", [OTHER, None])
def test_another_skill_of_that_name_is_kept_unless_it_is_to_be_replaced(source: str | None) -> None:
    there = InstalledSkill("pdf", files(a="1"), None, source)
    with pytest.raises(SkillConflict) as refused:
        plan_step(there, files(a="2"), SOURCE)
    assert "--replace" in str(refused.value.hint)
    assert "--name" in str(refused.value.hint)
    assert plan_step(there, files(a="2"), SOURCE, replace=True).verb is Verb.REPLACE


def test_the_same_files_that_no_lock_names_are_only_locked() -> None:
    assert plan_step(InstalledSkill("pdf", files(a="1")), files(a="1"), SOURCE).verb is Verb.LOCK
    with pytest.raises(SkillConflict):
        plan_step(InstalledSkill("pdf", files(a="1"), None, OTHER), files(a="1"), SOURCE)


def test_edits_stay_where_the_source_did_not_change() -> None:
    was = files(edited="1", removed="1", theirs="1", away="1")
    here = files(edited="2", theirs="1", away="1", mine="5")
    there = files(edited="1", removed="1", theirs="2", more="1")
    assert merged("pdf", was, here, there) == Merge(kept=("edited", "mine"), dropped=("removed",))


def test_the_same_edit_on_both_sides_is_no_conflict() -> None:
    assert merged("pdf", files(a="1"), files(a="2"), files(a="2")) == Merge()


@pytest.mark.parametrize(
    ("here", "there"),
    [("2", "3"), (None, "3"), ("2", None)],
    ids=["both changed", "removed here, changed there", "changed here, removed there"],
)
def test_a_file_that_both_sides_changed_is_named_and_settled_as_was_said(here: str | None, there: str | None) -> None:
    was, mine, theirs = files(a="1", b="1"), files(a=here, b="1"), files(a=there, b="1")
    with pytest.raises(SkillConflict) as refused:
        merged("pdf", was, mine, theirs)
    assert refused.value.files == ("a",)
    assert "--theirs" in str(refused.value.hint)
    assert "--ours" in str(refused.value.hint)
    assert merged("pdf", was, mine, theirs, settled=Settlement.THEIRS) == Merge(lost=("a",))
    kept = Merge(kept=("a",)) if here else Merge(dropped=("a",))
    assert merged("pdf", was, mine, theirs, settled=Settlement.OURS) == kept


def test_where_nothing_says_what_was_installed_every_difference_is_asked_about() -> None:
    with pytest.raises(SkillConflict) as refused:
        merged("pdf", None, files(a="1", b="1"), files(a="1", b="2"))
    assert refused.value.files == ("b",)


def test_differences_are_told_by_file() -> None:
    found = changes(files(a="1", b="1", c="1"), files(b="B", c="1", d="1"))
    assert (found.added, found.removed, found.changed) == (("d",), ("a",), ("b",))
    assert not changes(files(a="1"), files(a="1"))
    assert edits(files(a="1", b="1"), files(a="2", c="1")) == ("a", "b", "c")


def test_an_edited_file_that_is_a_directory_in_the_source_is_changed_on_both_sides() -> None:
    was = files(n=None)
    here, there = {**files(n="1"), **files(x="1")}, {"n/u": FileDigest("2" * 64, 1, False)}
    with pytest.raises(SkillConflict) as refused:
        merged("pdf", was, here, there)
    assert refused.value.files == ("n",)
    assert merged("pdf", was, here, there, settled=Settlement.THEIRS) == Merge(kept=("x",), lost=("n",))
    assert merged("pdf", was, here, there, settled=Settlement.OURS) == Merge(kept=("n", "x"), dropped=("n/u",))
    # And the other way round.
    with pytest.raises(SkillConflict):
        merged("pdf", was, there, here)
    assert merged("pdf", was, there, here, settled=Settlement.OURS) == Merge(kept=("n/u",), dropped=("n",))


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("pdf-forms", "pdf-form"),
        ("pdf-forms", "pdf-farms"),
        ("pdf-forms", "pdf-froms"),
        ("pdf-forms", "pdf-forms-2"),
        ("pdf-forms", "pdf-forms.pro"),
        ("pdf", "pdf-2"),
        ("pdf", "pdf2"),
        ("notes", "notes-v2.1"),
        ("pdf", "pԁf"),
        ("learn", "leam"),
        ("b1ll-tool", "bill-tool"),
    ],
)
def test_a_name_that_can_be_taken_for_another_is_alike(name: str, other: str) -> None:
    assert is_alike(name, other)
    assert is_alike(other, name)


@pytest.mark.parametrize(("name", "other"), [("pdf", "pdg"), ("docx", "xlsx"), ("search", "research-it"), ("a", "ab")])
def test_names_that_only_share_letters_are_not(name: str, other: str) -> None:
    assert not is_alike(name, other)


def test_who_wins_the_name_is_told_by_the_order_of_the_roots() -> None:
    found = neighbours("pdf-forms", [["pdf-forms"], ["docx"], ["pdf-forms", "pdf-form"]], 1, ["/p", "/u", "/h"])
    assert (found.before, found.behind, found.alike) == (("/p",), ("/h",), ("pdf-form",))
