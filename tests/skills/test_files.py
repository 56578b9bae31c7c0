"""Reading and listing a skill's files, with real files, links, and inaccessible neighbours."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.traversal import LINKS_OUT, NEVER_DECODED, REFUSED, SECRET, Hostile, plant

from skillhub_mcp.errors import InvalidArgument, PathNotAllowed, SkillFileNotFound, SkillHubError
from skillhub_mcp.skills.files import confinement
from skillhub_mcp.skills.files.content import FileContent, ReadLimits, read_file, read_whole
from skillhub_mcp.skills.files.listing import FileEntry, list_files

LIMITS = ReadLimits(max_bytes=65_536)
WITH_DOTFILES = ReadLimits(max_bytes=65_536, serve_dotfiles=True)

both_openers = pytest.mark.usefixtures("opener")


@pytest.fixture(params=[confinement.open_by_descriptors, confinement.open_by_resolved_path])
def opener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "open_confined", request.param)


def words(hostile: Hostile) -> str:
    return hostile.why.replace(" ", "-")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    return plant(tmp_path)


def read(directory: Path, file_path: str, *, limits: ReadLimits = LIMITS, offset: int = 0) -> FileContent:
    return read_file(directory, file_path, skill="a", limits=limits, offset=offset)


def parts_of(directory: Path, file_path: str, *, max_bytes: int) -> Iterator[FileContent]:
    offset: int | None = 0
    while offset is not None:
        part = read(directory, file_path, limits=ReadLimits(max_bytes=max_bytes), offset=offset)
        yield part
        offset = part.next_offset


# What is served


@pytest.mark.acceptance("S2-27")
@both_openers
@pytest.mark.parametrize(
    "path", ["references/guide.md", "references\\guide.md", "./references/guide.md", "references/./guide.md"]
)
def test_a_file_in_a_subdirectory_is_read(skill: Path, path: str) -> None:
    assert read(skill, path) == FileContent(
        content="# Guide\n",
        encoding="utf-8",
        truncated=False,
        size=8,
        offset=0,
        next_offset=None,
        media_type="text/markdown",
    )


def test_an_empty_file_is_empty_text(skill: Path) -> None:
    (skill / "empty.txt").touch()
    content = read(skill, "empty.txt")
    assert (content.content, content.encoding, content.truncated, content.size) == ("", "utf-8", False, 0)


def test_line_ends_and_a_byte_order_mark_are_kept(skill: Path) -> None:
    (skill / "dos.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert read(skill, "dos.txt").content == "\ufeffone\r\ntwo\r\n"


@pytest.mark.parametrize(
    "name", ["見積 テンプレート.md", "naïve.md", "a b.md", "a~b.md", "x..y.md", "$HOME.md", "-.md"]
)
def test_unusual_but_valid_names_are_read(skill: Path, name: str) -> None:
    (skill / name).write_text("here", encoding="utf-8")
    assert read(skill, name).content == "here"


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("a.json", b"{}", "application/json"),
        ("a.ts", b"let a", "text/x-typescript"),
        ("a.yaml", b"a: 1", "application/yaml"),
        ("LICENSE", b"free", "text/plain"),
        ("a.unheard-of", b"\0", "application/octet-stream"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0", "image/png"),
        ("a.tar.gz", b"\x1f\x8b\0", "application/octet-stream"),
        ("data:image,x.PNG", b"\x89PNG\0", "image/png"),
    ],
)
def test_the_media_type_comes_from_the_name(skill: Path, name: str, content: bytes, media_type: str) -> None:
    (skill / name).write_bytes(content)
    assert read(skill, name).media_type == media_type


# What is refused


@pytest.mark.acceptance("S2-28", "S2-29", "S2-31")
@both_openers
@pytest.mark.parametrize("hostile", REFUSED, ids=words)
def test_a_hostile_path_is_refused(skill: Path, hostile: Hostile) -> None:
    with pytest.raises(PathNotAllowed) as refusal:
        read(skill, hostile.path)
    error = json.dumps([refusal.value.message, dict(refusal.value.facts)], ensure_ascii=False)
    assert error.encode("utf-8")
    assert len(error) < 1_000
    assert SECRET not in error


@pytest.mark.acceptance("S2-29")
@both_openers
@pytest.mark.parametrize("hostile", NEVER_DECODED, ids=words)
def test_a_path_is_never_decoded_or_expanded(skill: Path, hostile: Hostile) -> None:
    with pytest.raises(SkillFileNotFound):
        read(skill, hostile.path)


@pytest.mark.acceptance("S2-30", "S2-31")
@both_openers
@pytest.mark.parametrize("hostile", LINKS_OUT, ids=words)
def test_a_link_out_of_the_skill_is_refused(skill: Path, hostile: Hostile) -> None:
    assert (skill / hostile.path).read_text(encoding="utf-8") == SECRET, "the link works without confinement"
    with pytest.raises(PathNotAllowed):
        read(skill, hostile.path)


@pytest.mark.acceptance("S2-30")
def test_whether_an_outside_link_dangles_is_not_revealed(skill: Path) -> None:
    os.symlink("../b/absent.md", skill / "dangling.md")
    with pytest.raises(PathNotAllowed) as dangling:
        read(skill, "dangling.md")
    with pytest.raises(PathNotAllowed) as leading:
        read(skill, "to-file.md")
    assert dangling.value.message.split(" ", 1)[1] == leading.value.message.split(" ", 1)[1]


@both_openers
@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("latest.md", "references/guide.md", "latest.md"),
        ("docs", "references", "docs/guide.md"),
        ("references/back.md", "../references/guide.md", "references/back.md"),
        ("references/here", ".", "references/here/here/guide.md"),
        ("top", "references/..", "top/references/guide.md"),
    ],
)
def test_a_link_within_the_skill_is_followed(skill: Path, link: str, target: str, path: str) -> None:
    os.symlink(target, skill / link)
    assert read(skill, path).content == "# Guide\n"


@both_openers
def test_a_parent_path_behind_a_link_counts_from_its_target(skill: Path) -> None:
    (skill / "deep" / "er").mkdir(parents=True)
    (skill / "deep" / "note.md").write_text("deep", encoding="utf-8")
    os.symlink("deep/er", skill / "short")
    os.symlink("short/../note.md", skill / "around.md")
    assert read(skill, "around.md").content == "deep"


@both_openers
def test_a_link_cycle_ends(skill: Path) -> None:
    os.symlink("pong", skill / "ping")
    os.symlink("ping", skill / "pong")
    with pytest.raises(SkillFileNotFound):
        read(skill, "ping")


def test_a_skill_reached_through_a_link_is_confined_to_its_real_directory(skill: Path, tmp_path: Path) -> None:
    os.symlink(skill, tmp_path / "linked")
    assert read(tmp_path / "linked", "references/guide.md").content == "# Guide\n"
    with pytest.raises(PathNotAllowed):
        read(tmp_path / "linked", "to-b/secret.md")


@pytest.mark.parametrize("path", [".env", ".git/config", "references/.env", "./.env"])
def test_dotfiles_are_withheld_unless_served(skill: Path, path: str) -> None:
    with pytest.raises(PathNotAllowed, match="SKILLHUB_SERVE_DOTFILES"):
        read(skill, path)
    assert read(skill, path, limits=WITH_DOTFILES).content == SECRET


@both_openers
@pytest.mark.parametrize(("target", "path"), [(".env", "plain.md"), (".git", "plain.md/config")])
def test_a_plain_name_that_links_to_a_dotfile_is_withheld(skill: Path, target: str, path: str) -> None:
    os.symlink(target, skill / "plain.md")
    with pytest.raises(PathNotAllowed, match="SKILLHUB_SERVE_DOTFILES"):
        read(skill, path)
    assert read(skill, path, limits=WITH_DOTFILES).content == SECRET


@pytest.mark.acceptance("S2-29")
@both_openers
@pytest.mark.parametrize("hostile", [h for h in REFUSED if ".." in re.split(r"[/\\]", h.path)], ids=words)
def test_serving_dotfiles_does_not_allow_parent_paths(skill: Path, hostile: Hostile) -> None:
    with pytest.raises(PathNotAllowed):
        read(skill, hostile.path, limits=WITH_DOTFILES)


def test_an_empty_path_is_an_invalid_argument(skill: Path) -> None:
    with pytest.raises(InvalidArgument, match="file_path is empty"):
        read(skill, "")


# Missing files


@pytest.mark.acceptance("S2-33")
@both_openers
@pytest.mark.parametrize("path", ["absent.md", "absent/guide.md", "SKILL.md/guide.md", "references/absent.md"])
def test_a_missing_file_is_reported(skill: Path, path: str) -> None:
    with pytest.raises(SkillFileNotFound, match="does not exist") as error:
        read(skill, path)
    assert error.value.facts == {"skill_name": "a", "file_path": path}


@pytest.mark.acceptance("S2-33")
@both_openers
@pytest.mark.parametrize("path", ["references", "references/", "references\\", ".", "./"])
def test_a_directory_is_refused_and_its_files_are_named(skill: Path, path: str) -> None:
    with pytest.raises(SkillFileNotFound, match="is a directory") as error:
        read(skill, path)
    assert error.value.hint is not None
    assert "'references/guide.md'" in error.value.hint


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("reference/giude.md", "did you mean 'references/guide.md'?"),
        ("@@@@", "files of the skill: '00.txt', '01.txt', '02.txt', '03.txt', '04.txt', …"),
    ],
)
def test_a_missing_file_is_answered_with_files_that_exist(skill: Path, path: str, hint: str) -> None:
    for number in range(20):
        (skill / f"{number:02}.txt").touch()
    with pytest.raises(SkillFileNotFound) as error:
        read(skill, path)
    assert error.value.hint == hint


def test_a_skill_with_a_deleted_directory_has_no_files(tmp_path: Path) -> None:
    with pytest.raises(SkillFileNotFound, match="does not exist"):
        read(tmp_path / "gone", "SKILL.md")
    assert list_files(tmp_path / "gone", serve_dotfiles=False) == ((), True)


@both_openers
def test_a_fifo_is_not_read_and_does_not_block(skill: Path) -> None:
    os.mkfifo(skill / "pipe")
    with pytest.raises(SkillFileNotFound, match="is not a regular file"):
        read(skill, "pipe")


@both_openers
def test_a_link_to_a_device_is_refused(skill: Path) -> None:
    os.symlink("/dev/zero", skill / "zero")
    with pytest.raises(PathNotAllowed):
        read(skill, "zero")


def test_an_unreadable_file_is_reported_with_a_fix(skill: Path) -> None:
    locked = skill / "locked.md"
    locked.write_text(SECRET, encoding="utf-8")
    locked.chmod(0)
    program = (
        "import os, sys\n"
        "from skillhub_mcp.errors import SkillHubError\n"
        "from skillhub_mcp.skills.files.content import ReadLimits, read_file\n"
        "descriptor = os.open(sys.argv[1], os.O_RDONLY)\n"
        "os.chdir(descriptor)\n"
        "if os.geteuid() == 0: os.setegid(65534); os.seteuid(65534)\n"
        "try: print(read_file('.', 'locked.md', skill='a', limits=ReadLimits(max_bytes=9)))\n"
        "except SkillHubError as error: print(error.code, error.message); print(error.hint)\n"
    )
    skill.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", program, str(skill)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        "FILE_NOT_FOUND 'locked.md' cannot be read (Permission denied) in skill 'a'",
        "another path does not help: the server's operator must make the file readable for it",
    ]


# Limits


@pytest.mark.acceptance("S2-32")
def test_a_large_file_is_cut_at_a_character_boundary(skill: Path) -> None:
    (skill / "large.md").write_text("a" + "あ" * 40_000, encoding="utf-8")
    part = read(skill, "large.md")
    assert part.content == "a" + "あ" * 21_845
    assert (part.truncated, part.size, part.next_offset) == (True, 120_001, 65_536)
    smaller = read(skill, "large.md", limits=ReadLimits(max_bytes=65_535))
    assert smaller.content == "a" + "あ" * 21_844
    assert smaller.next_offset == 65_533


def test_an_offset_at_the_end_gives_an_empty_part(skill: Path) -> None:
    part = read(skill, "references/guide.md", offset=8)
    assert (part.content, part.truncated, part.next_offset) == ("", False, None)


@pytest.mark.parametrize("offset", [-1, 9, 2**80])
def test_an_offset_outside_the_file_is_an_invalid_argument(skill: Path, offset: int) -> None:
    with pytest.raises(InvalidArgument, match="offset") as error:
        read(skill, "references/guide.md", offset=offset)
    # A shell reads the whole file, without next_offset.
    assert error.value.hint == "start at 0"


@pytest.mark.parametrize("offset", [2, 6, 8, 10])
def test_an_offset_within_a_character_returns_base64(skill: Path, offset: int) -> None:
    text = "aあい🎌".encode()
    (skill / "text.md").write_bytes(text)
    part = read(skill, "text.md", offset=offset)
    assert (part.encoding, base64.b64decode(part.content)) == ("base64", text[offset:])


# Binary content


@pytest.mark.acceptance("S2-34")
@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00", "試験".encode("shift_jis"), b"text with\0NUL", b"cut \xe3\x81", b"\xed\xa0\x80", b"\xc0\xae"],
)
def test_binary_content_is_returned_as_base64(skill: Path, content: bytes) -> None:
    (skill / "file.bin").write_bytes(content)
    part = read(skill, "file.bin")
    assert part.encoding == "base64"
    assert base64.b64decode(part.content, validate=True) == content


def test_utf_16_with_its_mark_is_paged_as_text(skill: Path) -> None:
    text = "Größe 🦀 " * 9
    (skill / "wide.txt").write_bytes(text.encode("utf-16"))
    parts = list(parts_of(skill, "wide.txt", max_bytes=7))
    assert {part.encoding[:6] for part in parts} == {"utf-16"}
    assert "".join(part.content for part in parts) == "\ufeff" + text
    with pytest.raises(InvalidArgument, match="within a character"):
        read(skill, "wide.txt", offset=3)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        (unicodedata.normalize("NFD", "Übersicht.md"), "Übersicht.md"),
        ("Übersicht.md", unicodedata.normalize("NFD", "Übersicht.md")),
        ("style guide.md", "style%20guide.md"),
        ("100% done.md", "100%25%20done.md"),
        ("a%20b.md", "a%20b.md"),
    ],
)
def test_a_file_is_found_in_either_unicode_form(skill: Path, stored: str, asked: str) -> None:
    (skill / "notes").mkdir()
    (skill / "notes" / stored).write_text("Here.", encoding="utf-8")
    assert read(skill, f"notes/{asked}").content == "Here."
    assert read_whole(skill, f"notes/{asked}", skill="s", max_bytes=9) == b"Here."


# The whole file


def test_a_whole_file_is_read_up_to_its_limit(skill: Path) -> None:
    assert read_whole(skill, "references/guide.md", skill="a", max_bytes=8) == b"# Guide\n"
    with pytest.raises(SkillFileNotFound, match="has more than 7 bytes"):
        read_whole(skill, "references/guide.md", skill="a", max_bytes=7)


@pytest.mark.parametrize("path", [hostile.path for hostile in LINKS_OUT])
def test_reading_a_whole_file_is_confined_too(skill: Path, path: str) -> None:
    with pytest.raises(PathNotAllowed):
        read_whole(skill, path, skill="a", max_bytes=1_000)


# Listing


def test_the_listing_contains_exactly_the_readable_files(skill: Path) -> None:
    os.symlink("references/guide.md", skill / "latest.md")
    os.symlink("references", skill / "docs")
    os.symlink(".env", skill / "plain.md")
    os.symlink("absent.md", skill / "dangling.md")
    os.mkfifo(skill / "pipe")
    for left_out in ("__pycache__/a.pyc", "node_modules/a.js", "~home.md", "back\\slash.md", "line\nfeed.md", "C:x.md"):
        (skill / left_out).parent.mkdir(exist_ok=True)
        (skill / left_out).touch()
    (Path(os.fsdecode(os.fsencode(skill) + b"/\xff.md"))).touch()
    files, more = list_files(skill, serve_dotfiles=False)
    assert [entry.path for entry in files] == ["SKILL.md", "latest.md", "references/guide.md"]
    assert files[-1] == FileEntry("references/guide.md", 8)
    assert not more
    assert [read(skill, entry.path).size for entry in files] == [entry.size for entry in files]


def test_the_listing_shows_dotfiles_if_they_are_served(skill: Path) -> None:
    files, _ = list_files(skill, serve_dotfiles=True)
    assert [entry.path for entry in files] == [
        ".env",
        ".git/config",
        "SKILL.md",
        "references/.env",
        "references/guide.md",
    ]


def test_a_truncated_listing_keeps_the_top_and_says_so(skill: Path) -> None:
    (skill / "assets").mkdir()
    for number in range(10):
        (skill / "assets" / f"{number}.txt").touch()
    (skill / "z.md").touch()
    files, more = list_files(skill, serve_dotfiles=False, max_files=3)
    assert ([entry.path for entry in files], more) == (["SKILL.md", "assets/0.txt", "z.md"], True)
    assert list_files(skill, serve_dotfiles=False, max_files=13)[1] is False
    assert list_files(skill, serve_dotfiles=False, max_files=12)[1] is True


# Races


@pytest.mark.acceptance("S2-30")
@both_openers
def test_a_file_swapped_for_a_link_before_opening_is_not_followed(skill: Path) -> None:
    (skill / "place.md").write_text("mine", encoding="utf-8")
    real = os.stat

    def stat_then_exchange(name: str | Path, **options: object) -> os.stat_result:
        status = real(name, **options)  # type: ignore[arg-type]  # passed on as they came
        if os.path.basename(name) == "place.md":
            os.replace(skill / "place.md", skill / "moved.md")
            os.symlink("../b/secret.md", skill / "place.md")
        return status

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "stat", stat_then_exchange)
        with pytest.raises(SkillFileNotFound):
            read(skill, "place.md")
    assert (skill / "place.md").read_text(encoding="utf-8") == SECRET


def test_no_descriptor_is_left_open(skill: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc to count descriptors")
    before = len(os.listdir("/proc/self/fd"))
    for hostile in (*REFUSED, *NEVER_DECODED, *LINKS_OUT, Hostile("fine", "references/guide.md")):
        with contextlib.suppress(SkillHubError):
            read(skill, hostile.path)
    list_files(skill, serve_dotfiles=True)
    assert len(os.listdir("/proc/self/fd")) == before
