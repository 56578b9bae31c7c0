"""The plan of an installation: name owners, edits to keep, and confusable names."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from skillhub_mcp.errors import SkillConflict
from skillhub_mcp.library.plan import InstalledSkill, Settlement, Verb, changes, different, is_alike, plan_step
from skillhub_mcp.locks.file_digests import FileDigest, digest_of

SOURCE, OTHER = "github:acme/skills", "github:mallory/skills"


def files(**contents: str | None) -> Mapping[str, FileDigest]:
    """Files by name, with a letter for their bytes; capitals mean executable, None means no file."""
    return {path: FileDigest(text.lower() * 64, 1, text.isupper()) for path, text in contents.items() if text}


def test_a_free_name_is_added() -> None:
    assert plan_step(InstalledSkill("pdf"), files(a="1"), SOURCE) is Verb.ADD


def test_a_changed_skill_of_the_same_source_is_updated() -> None:
    there = InstalledSkill("pdf", files(a="1"), SOURCE, edited=False)
    assert plan_step(there, files(a="1"), SOURCE) is Verb.NOTHING
    assert plan_step(there, files(a="2"), SOURCE) is Verb.UPDATE
    assert plan_step(there, files(a="A"), SOURCE) is Verb.UPDATE


@pytest.mark.parametrize("source", [OTHER, None])
def test_a_different_skill_with_the_name_is_kept_unless_replaced(source: str | None) -> None:
    there = InstalledSkill("pdf", files(a="1"), source)
    with pytest.raises(SkillConflict) as refused:
        plan_step(there, files(a="2"), SOURCE)
    assert "--replace" in str(refused.value.hint)
    assert "--name" in str(refused.value.hint)
    assert plan_step(there, files(a="2"), SOURCE, replace=True) is Verb.REPLACE


def test_identical_files_without_a_lock_entry_are_only_locked() -> None:
    assert plan_step(InstalledSkill("pdf", files(a="1")), files(a="1"), SOURCE) is Verb.LOCK
    with pytest.raises(SkillConflict):
        plan_step(InstalledSkill("pdf", files(a="1"), OTHER), files(a="1"), SOURCE)


def test_an_edited_skill_stays_while_its_source_is_unchanged() -> None:
    there = InstalledSkill("pdf", files(a="2"), SOURCE, digest_of(files(a="1")))
    assert plan_step(there, files(a="1"), SOURCE) is Verb.NOTHING
    assert plan_step(there, files(a="1"), SOURCE, settled=Settlement.THEIRS) is Verb.UPDATE
    assert plan_step(there, files(a="2"), SOURCE) is Verb.UPDATE


def test_a_conflict_is_settled_by_ours_or_theirs() -> None:
    there = InstalledSkill("pdf", files(a="2", mine="1"), SOURCE, digest_of(files(a="1")))
    with pytest.raises(SkillConflict) as refused:
        plan_step(there, files(a="3"), SOURCE)
    assert refused.value.facts["files"] == ["a", "mine"]
    assert "--theirs" in str(refused.value.hint)
    assert "--ours" in str(refused.value.hint)
    assert plan_step(there, files(a="3"), SOURCE, settled=Settlement.THEIRS) is Verb.UPDATE
    assert plan_step(there, files(a="3"), SOURCE, settled=Settlement.OURS) is Verb.KEEP


def test_differences_are_reported_by_file() -> None:
    found = changes(files(a="1", b="1", c="1"), files(b="B", c="1", d="1"))
    assert (found.added, found.removed, found.changed) == (("d",), ("a",), ("b",))
    assert not changes(files(a="1"), files(a="1"))
    assert different(files(a="1", b="1"), files(a="2", c="1")) == ("a", "b", "c")


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
def test_confusable_names_are_alike(name: str, other: str) -> None:
    assert is_alike(name, other)
    assert is_alike(other, name)


@pytest.mark.parametrize(("name", "other"), [("pdf", "pdg"), ("docx", "xlsx"), ("search", "research-it"), ("a", "ab")])
def test_names_that_only_share_letters_are_not_alike(name: str, other: str) -> None:
    assert not is_alike(name, other)
