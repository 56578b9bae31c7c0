"""What holds for every text that may be typed for a source of skills."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from skillhub_mcp.errors import SourceUnreadable
from skillhub_mcp.library.sources.source import SkillSource, SourceKind, parse_source

_SIGNS = [*"./~/@#:,*%+-?=& \\", "..", "//", "%23", "%40", "%2f", "-x"]
_SCHEMES = ["https://", "http://", "ssh://", "file:///", "git+", "git@h:", "github:", "gitlab:", "ext::", "C:\\"]
_HOSTS = ["github.com", "gitlab.com", "h.example", "codeberg.org", "dev.azure.com", "localhost", ":80"]
_WORDS = ["o", "r", "x.git", "a.zip", "tree", "blob", "src", "branch", "-/", "_git", "SKILL.md", "main", "v1", "é"]
_PIECES = st.sampled_from([*_SIGNS, *_SCHEMES, *_HOSTS, *_WORDS, "\u202e"])
TYPED = st.one_of(st.lists(_PIECES, max_size=12).map("".join), st.text(max_size=40))
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20)
REPOSITORIES = st.sampled_from(
    ["o/r", "gitlab:g/s/r", "https://h.example/x.git", "git+https://h.example/x", "git@h.example:x.git", "file:///srv/x",
     "https://dev.azure.com/o/p/_git/r", "ssh://h.example/x"]
)  # fmt: skip
PATHS = st.lists(NAMES.map(lambda name: name.replace("/", "")), max_size=3).map("/".join)


def read(typed: str, *, ref: str = "", path: str = "", skills: tuple[str, ...] = ()) -> SkillSource | None:
    try:
        return parse_source(typed, ref=ref, path=path, skills=skills, insecure=True)
    except SourceUnreadable:
        return None


@given(TYPED)
@example("./a #:")
@example("https://h.example/a/-/b")
def test_a_source_is_refused_or_round_trips(typed: str) -> None:
    source = read(typed)
    if source is not None:
        assert read(str(source)) == source


@given(REPOSITORIES, NAMES, PATHS, st.lists(NAMES, max_size=3))
def test_ref_path_and_skill_are_in_the_normal_form(typed: str, ref: str, path: str, skills: list[str]) -> None:
    source = read(typed, ref=ref, path=path, skills=tuple(skills))
    if source is not None:
        assert (source.ref.lower(), set(source.skills)) == (ref.lower(), set(skills))
        assert read(str(source)) == source


@given(TYPED)
def test_no_source_is_an_option_or_program_for_git(typed: str) -> None:
    source = read(typed)
    if source is not None and source.kind is SourceKind.GIT:
        assert (
            source.location.startswith(("https://", "http://", "ssh://", "git://", "file:///"))
            or "@" in source.location
        )
        assert re.match(r"[A-Za-z0-9+.-]+::", source.location) is None
        assert not source.location.startswith("-")
        assert not source.ref.startswith(("-", "+", ":"))
        assert ".." not in source.path.split("/")
        assert source.location.isprintable()
