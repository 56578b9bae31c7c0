"""An entry lists every served file of a skill with the size and digest of its current bytes."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.traversal import SECRET, plant

from skillhub_mcp.publishing.entries import MAX_BYTES, MAX_FILES, PublishedEntry, PublishedFile, refresh_entry


def made(skill: Path, before: PublishedEntry | None = None, *, name: str = "demo") -> PublishedEntry:
    return refresh_entry(str(skill), name, before, serve_dotfiles=False)


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def paths(entry: PublishedEntry) -> list[str]:
    return [file.path for file in entry.files]


@pytest.mark.skipif(os.name == "nt", reason="creating links needs a privilege there, and FIFOs do not exist")
def test_only_readable_files_are_published(tmp_path: Path) -> None:
    skill = plant(tmp_path)
    os.symlink("references/guide.md", skill / "inside.md")
    os.symlink("references", skill / "inside")
    os.mkfifo(skill / "fifo")
    for name in ("node_modules", "__pycache__", "empty"):
        (skill / name).mkdir()
    (skill / "node_modules" / "x.js").write_text("x", encoding="utf-8")
    (skill / "back\\slash").write_text("x", encoding="utf-8")
    (skill / "line\nfeed").write_text("x", encoding="utf-8")
    entry = made(skill, name="a")
    assert paths(entry) == ["SKILL.md", "inside.md", "references/guide.md"]
    assert entry.withheld is None
    assert digest(SECRET.encode()) not in {file.digest for file in entry.files}


@pytest.mark.skipif(os.name == "nt", reason="creating links needs a privilege there")
def test_a_skill_file_that_is_a_link_out_of_the_skill_is_not_read(tmp_path: Path, write_skill: SkillWriter) -> None:
    outside = write_skill("demo", root=tmp_path, directory="outside")
    skill = tmp_path / "skill"
    skill.mkdir()
    os.symlink(outside / "SKILL.md", skill / "SKILL.md")
    entry = made(skill)
    assert (entry.files, entry.withheld) == (
        (),
        "a file cannot be read: 'SKILL.md' leads out of the skill through a link",
    )


@pytest.mark.parametrize("path", ["SKILL.md", "a.txt"])
def test_a_change_that_keeps_size_and_mtime_is_detected(write_skill: SkillWriter, path: str) -> None:
    skill = write_skill("demo", "Does it.", files={"a.txt": "one"})
    first = made(skill)
    time.sleep(0.02)  # more than a tick of the file system's clock
    before = (skill / path).stat()
    changed = (skill / path).read_bytes().replace(b"one", b"two").replace(b"Does it", b"Does at")
    (skill / path).write_bytes(changed)
    os.utime(skill / path, ns=(before.st_atime_ns, before.st_mtime_ns))
    second = made(skill, first)
    assert PublishedFile(path, len(changed), digest(changed), is_text=True) in second.files
    assert first.files != second.files


def test_a_skill_that_is_too_deep_is_not_reported_as_too_many_files(write_skill: SkillWriter) -> None:
    skill = write_skill("demo", files={"/".join(["d"] * 40 + ["a.txt"]): b""})
    withheld = made(skill).withheld or ""
    assert "over 32 levels deep" in withheld
    assert "more than" not in withheld


def test_a_skill_with_more_files_than_hosts_accept_is_withheld(write_skill: SkillWriter) -> None:
    skill = write_skill("demo", files={f"{number:03}.txt": b"" for number in range(MAX_FILES - 1)})
    full = made(skill)
    assert (full.withheld, len(full.files)) == (None, MAX_FILES)
    (skill / "one-more.txt").write_bytes(b"")
    over = made(skill, full)
    assert over.withheld == f"it has more than {MAX_FILES} files"
    # The list of the first 512 files does not change.
    (skill / "one-more.txt").unlink()
    assert made(skill, over).files == full.files


def test_a_skill_with_more_bytes_than_hosts_accept_is_withheld(write_skill: SkillWriter) -> None:
    skill = write_skill("demo")
    rest = MAX_BYTES - (skill / "SKILL.md").stat().st_size
    with (skill / "large.bin").open("wb") as large:
        large.truncate(rest)
    assert made(skill).withheld is None
    with (skill / "large.bin").open("wb") as large:
        large.truncate(rest + 1)
    over = made(skill)
    assert (over.withheld, over.files) == (f"its files have more than {MAX_BYTES:,} bytes", ())
    assert made(skill, over) is over


def test_skill_md_in_another_letter_case_is_published_as_skill_md(write_skill: SkillWriter) -> None:
    skill = write_skill("demo", files={"a.txt": "a"})
    (skill / "SKILL.md").rename(skill / "skill.md")
    assert paths(made(skill)) == ["SKILL.md", "a.txt"]


def test_an_unreadable_skill_is_withheld_until_it_can_be_read(write_skill: SkillWriter) -> None:
    skill = write_skill("demo", files={"a.txt": "a"})
    content = (skill / "SKILL.md").read_bytes()
    (skill / "SKILL.md").unlink()
    gone = made(skill)
    assert gone.withheld == "a file cannot be read: 'SKILL.md' does not exist in skill 'demo'"
    (skill / "SKILL.md").write_bytes(content)
    assert made(skill, gone).withheld is None
