"""Parsing of typed sources: their meaning, canonical form, and refusals."""

from __future__ import annotations

import pytest

from skillhub_mcp.errors import SourceUnreadable
from skillhub_mcp.library.sources.source import (
    SkillSource,
    SourceKind,
    as_ref,
    parse_source,
    refuse_directory,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GITHUB = "https://github.com/o/r.git"


def directory(location: str, path: str = "", skills: tuple[str, ...] = ()) -> SkillSource:
    return SkillSource(SourceKind.DIRECTORY, location, path=path, skills=skills)


def archive(location: str, path: str = "", skills: tuple[str, ...] = ()) -> SkillSource:
    return SkillSource(SourceKind.ARCHIVE, location, path=path, skills=skills)


def web(location: str, path: str = "", skills: tuple[str, ...] = ()) -> SkillSource:
    return SkillSource(SourceKind.WEB, location, path=path, skills=skills)


def git(location: str, ref: str = "", path: str = "", skills: tuple[str, ...] = ()) -> SkillSource:
    return SkillSource(SourceKind.GIT, location, ref, path, skills)


READ = [
    # Local paths.
    (".", directory("."), "."),
    ("..", directory(".."), ".."),
    ("./dir", directory("./dir"), "./dir"),
    ("./dir/", directory("./dir"), "./dir"),
    ("../dir", directory("../dir"), "../dir"),
    ("./../dir", directory("./../dir"), "./../dir"),
    ("/dir//a/./b/", directory("/dir/a/b"), "/dir/a/b"),
    ("/", directory("/"), "/"),
    ("//server/share", directory("//server/share"), "//server/share"),
    ("~", directory("~"), "~"),
    ("~/dir", directory("~/dir"), "~/dir"),
    ("  ./dir ", directory("./dir"), "./dir"),
    ("./C#/skills", directory("./C#/skills"), "./C#/skills"),
    ("./two words", directory("./two words"), "./two words"),
    ("./dir@1", directory("./dir@1"), "./dir@1"),
    ("./dir#@pdf,Chat%20with PDF", directory("./dir", skills=("pdf", "Chat with PDF")), "./dir#@pdf,Chat%20with%20PDF"),
    ("./dir#:sub/", directory("./dir", "sub"), "./dir#:sub"),
    ("./dir/SKILL.md", directory("./dir"), "./dir"),
    ("./SKILL.md", directory("."), "."),
    ("/SKILL.md", directory("/"), "/"),
    ("~/a/skill.md#@pdf", directory("~/a", skills=("pdf",)), "~/a#@pdf"),
    ("C:\\skills\\a", directory("C:\\skills\\a"), "C:\\skills\\a"),
    ("C:/skills", directory("C:/skills"), "C:/skills"),
    ("\\\\server\\share\\x", directory("\\\\server\\share\\x"), "\\\\server\\share\\x"),
    (".\\dir", directory(".\\dir"), ".\\dir"),
    # Archives.
    ("file.zip", archive("./file.zip"), "./file.zip"),
    ("./x.skill", archive("./x.skill"), "./x.skill"),
    ("a/b/file.tar.gz", archive("./a/b/file.tar.gz"), "./a/b/file.tar.gz"),
    ("~/x.TGZ", archive("~/x.TGZ"), "~/x.TGZ"),
    ("/x.tar", archive("/x.tar"), "/x.tar"),
    ("/dir/.zip", directory("/dir/.zip"), "/dir/.zip"),
    ("file.zip#:sub/x@pdf", archive("./file.zip", "sub/x", ("pdf",)), "./file.zip#:sub/x@pdf"),
    # Repositories by name.
    ("o/r", git(GITHUB), "github:o/r"),
    ("o/r/", git(GITHUB), "github:o/r"),
    ("o/r.git", git(GITHUB), "github:o/r"),
    ("o/r.js", git("https://github.com/o/r.js.git"), "github:o/r.js"),
    ("o/r/sub/path", git(GITHUB, path="sub/path"), "github:o/r#:sub/path"),
    ("o/r/sub/SKILL.md", git(GITHUB, path="sub"), "github:o/r#:sub"),
    ("o/r/packages/@scope/x", git(GITHUB, path="packages/@scope/x"), "github:o/r#:packages/%40scope/x"),
    ("o/r@pdf", git(GITHUB, skills=("pdf",)), "github:o/r#@pdf"),
    ("o/r@v1.2", git(GITHUB, skills=("v1.2",)), "github:o/r#@v1.2"),
    ("o/r#v1.2", git(GITHUB, "v1.2"), "github:o/r#v1.2"),
    (f"o/r#{COMMIT.upper()}", git(GITHUB, COMMIT), f"github:o/r#{COMMIT}"),
    ("o/r#v1@pdf", git(GITHUB, "v1", skills=("pdf",)), "github:o/r#v1@pdf"),
    ("o/r#feature/x:a/b@p,q", git(GITHUB, "feature/x", "a/b", ("p", "q")), "github:o/r#feature/x:a/b@p,q"),
    ("o/r/a#v1@pdf", git(GITHUB, "v1", "a", ("pdf",)), "github:o/r#v1:a@pdf"),
    ("o/r#a%40b@c%2Cd", git(GITHUB, "a@b", skills=("c,d",)), "github:o/r#a%40b@c%2Cd"),
    ("o/r@*", git(GITHUB, skills=("*",)), "github:o/r#@*"),
    ("o/r#", git(GITHUB), "github:o/r"),
    ("github:o/r/a@b", git(GITHUB, path="a@b"), "github:o/r#:a%40b"),
    ("GitHub:o/r", git(GITHUB), "github:o/r"),
    ("gitlab:g/s/r", git("https://gitlab.com/g/s/r.git"), "gitlab:g/s/r"),
    ("gitlab:g/r@pdf", git("https://gitlab.com/g/r.git", skills=("pdf",)), "gitlab:g/r#@pdf"),
    ("gitlab:g/r#main:a", git("https://gitlab.com/g/r.git", "main", "a"), "gitlab:g/r#main:a"),
    # Repositories by URL.
    ("https://github.com/o/r", git(GITHUB), "github:o/r"),
    ("HTTPS://www.GitHub.com/o/r.git", git(GITHUB), "github:o/r"),
    ("git+https://github.com/o/r", git(GITHUB), "github:o/r"),
    ("https://gitlab.com/g/s/r", git("https://gitlab.com/g/s/r.git"), "gitlab:g/s/r"),
    ("https://codeberg.org/o/r", git("https://codeberg.org/o/r.git"), "https://codeberg.org/o/r.git"),
    ("https://git.sr.ht/~u/r", git("https://git.sr.ht/~u/r.git"), "https://git.sr.ht/~u/r.git"),
    ("https://h.example/x.git", git("https://h.example/x.git"), "https://h.example/x.git"),
    ("https://h.example/x.git#v1:a@p", git("https://h.example/x.git", "v1", "a", ("p",)), "https://h.example/x.git#v1:a@p"),
    ("https://h.example/g/x.git/a/b", git("https://h.example/g/x.git", path="a/b"), "https://h.example/g/x.git#:a/b"),
    ("https://h.example:8443/ä b/x.git", git("https://h.example:8443/%C3%A4%20b/x.git"), "https://h.example:8443/%C3%A4%20b/x.git"),
    ("git+https://h.example/x#v2", git("https://h.example/x", "v2"), "git+https://h.example/x#v2"),
    ("http://localhost:1/x.git", git("http://localhost:1/x.git"), "http://localhost:1/x.git"),
    ("http://[::1]:1/x.git", git("http://[::1]:1/x.git"), "http://[::1]:1/x.git"),
    ("git://127.0.0.1/x", git("git://127.0.0.1/x"), "git://127.0.0.1/x"),
    ("ssh://git@h.example:22/~/x.git", git("ssh://git@h.example:22/~/x.git"), "ssh://git@h.example:22/~/x.git"),
    ("git+ssh://git@h.example/x", git("ssh://git@h.example/x"), "ssh://git@h.example/x"),
    ("git@h.example:o/r.git", git("git@h.example:o/r.git"), "git@h.example:o/r.git"),
    ("me@h.example:/srv/x", git("me@h.example:/srv/x"), "me@h.example:/srv/x"),
    ("file:///srv/x.git", git("file:///srv/x.git"), "file:///srv/x.git"),
    ("file://localhost/srv/a b/#v1", git("file:///srv/a%20b", "v1"), "file:///srv/a%20b#v1"),
    # Pages of forges.
    ("https://github.com/o/r/tree/main", git(GITHUB, "main"), "github:o/r#main"),
    ("https://github.com/o/r/tree/main/a/b", git(GITHUB, "main", "a/b"), "github:o/r#main:a/b"),
    ("https://github.com/o/r/tree/HEAD/a", git(GITHUB, "HEAD", "a"), "github:o/r#HEAD:a"),
    ("https://github.com/o/r/blob/main/a/SKILL.md", git(GITHUB, "main", "a"), "github:o/r#main:a"),
    ("https://github.com/o/r/tree/main/x.git/b", git(GITHUB, "main", "x.git/b"), "github:o/r#main:x.git/b"),
    ("https://github.com/o/r/tree/main/a%20b#@p", git(GITHUB, "main", "a b", ("p",)), "github:o/r#main:a%20b@p"),
    (f"https://github.com/o/r/tree/{COMMIT}/a", git(GITHUB, COMMIT, "a"), f"github:o/r#{COMMIT}:a"),
    (f"https://github.com/o/r/commit/{COMMIT}", git(GITHUB, COMMIT), f"github:o/r#{COMMIT}"),
    ("https://github.com/o/r/releases/tag/v1", git(GITHUB, "v1"), "github:o/r#v1"),
    ("https://gitlab.com/g/s/r/-/tree/main/a", git("https://gitlab.com/g/s/r.git", "main", "a"), "gitlab:g/s/r#main:a"),
    ("https://h.example/g/s/r/-/blob/x/a/SKILL.md?ref_type=heads", git("https://h.example/g/s/r.git", "x", "a"), "https://h.example/g/s/r.git#x:a"),
    ("https://h.example/g/r/-/tags/v1", git("https://h.example/g/r.git", "v1"), "https://h.example/g/r.git#v1"),
    ("https://dev.azure.com/o/p/_git/r", git("https://dev.azure.com/o/p/_git/r"), "git+https://dev.azure.com/o/p/_git/r"),
    # URLs recognised by their content.
    ("https://h.example", web("https://h.example/"), "https://h.example/"),
    ("https://H.example/skills?x=1", web("https://h.example/skills?***"), "https://h.example/skills?***"),
    ("https://h.example/a.zip?ref=v1", web("https://h.example/a.zip?ref=v1"), "https://h.example/a.zip?ref=v1"),
    ("https://h.example/a.zip#:sub@pdf", web("https://h.example/a.zip", "sub", ("pdf",)), "https://h.example/a.zip#:sub@pdf"),
    ("https://h.example/#@pdf", web("https://h.example/", skills=("pdf",)), "https://h.example/#@pdf"),
    ("https://h.example/a/-/b/SKILL.md", web("https://h.example/a/-/b/SKILL.md"), "https://h.example/a/-/b/SKILL.md"),
    ("https://github.com/o/r/archive/refs/tags/v1.zip", web("https://github.com/o/r/archive/refs/tags/v1.zip"), "https://github.com/o/r/archive/refs/tags/v1.zip"),
    ("https://github.com/o/r/releases/download/v1/x.zip", web("https://github.com/o/r/releases/download/v1/x.zip"), "https://github.com/o/r/releases/download/v1/x.zip"),
    ("http://127.1.2.3:8000/", web("http://127.1.2.3:8000/"), "http://127.1.2.3:8000/"),
]  # fmt: skip

REFUSED = [
    ("", "names nothing"),
    ("  ", "names nothing"),
    ("skills", "is one word"),
    ("two words", "is not a source"),
    ("c:x", "is not a source"),
    ("host.example:o/r.git", "is not a source"),
    ("other:o/r", "is not a source"),
    ("github.com/o/r", "is neither a URL nor a path"),
    ("x" * 5_000, "characters"),
    ("-x", "is not a source of skills"),
    ("--upload-pack=touch x", "is not a source of skills"),
    ("ext::sh -c date", "is not a source of skills"),
    ("fd::3", "is not a source of skills"),
    ("EXT::x", "is not a source of skills"),
    ("./a\nb", "control character"),
    ("o/r\x1b[2J", "control character"),
    ("o/r#a%0Ab", "control character"),
    ("./a\u2028b", "control character"),
    ("./a\udc80", "control character"),
    ("o/r\u200b", "shows nothing"),
    ("https://h.example/\u202egit.x", "shows nothing"),
    ("o/-r", "is not a source"),
    ("o/..", "is not a source"),
    ("o/r/../x", "leads out"),
    ("o/r#:../x", "leads out"),
    ("https://github.com/o/r/tree/main/../x", "leads out"),
    ("https://h.example/a/../b.git", "leads out"),
    ("ssh://h.example/../x", "leads out"),
    ("github:o", "names no repository"),
    ("gitlab:g", "names no repository"),
    ("github:o/.git", "names no repository"),
    ("https://github.com/o", "is not a repository's page"),
    ("https://github.com/o/r/pull/3", "is a page of a repository"),
    ("https://gitlab.com/g/r/-/tree", "no place in it"),
    ("https://codeberg.org/o/r/src/branch/main/a", "is a page of a repository"),
    ("https://gitlab.com/g/r/-/merge_requests/1", "is not a repository"),
    ("o/r@pdf/sub", "behind a skill's name"),
    ("o/r@", "a skill without a name"),
    ("o/r#v1@pdf,", "a skill without a name"),
    ("o/r#-x", "no ref is named so"),
    ("o/r#+x", "no ref is named so"),
    ("o/r#a..b", "no ref is named so"),
    ("o/r#a%3Ab", "no ref is named so"),
    ("o/r#x.lock", "no ref is named so"),
    ("o/r#%ff", "not UTF-8"),
    ("https://h.example/x#v1", "being no repository"),
    ("file://host/x", "has a host"),
    ("file:///", "names no repository"),
    ("ftp://h.example/x.git", "begins with ftp://"),
    ("git+ext://x", "begins with ext://"),
    ("https:///x", "invalid host"),
    ("https://h.example:port/x", "is not a URL"),
    ("https://[::1/x", "is not a URL"),
    ("https://h\u00f6st.example/x.git", "invalid host"),
    ("ssh://-oProxyCommand=x/y", "invalid host"),
    ("git@-oProxyCommand=x:y", "invalid host"),
    ("git@h.example:-x", "begins with a dash"),
    ("ssh://h.example/-x", "begins with a dash"),
    ("ssh://h.example/", "names no repository"),
    ("git@h.example:", "names no repository"),
    ("http://h.example/", "is fetched by http"),
    ("http://h.example/x.git", "is fetched by http"),
    ("http://localhost.h.example/", "is fetched by http"),
    ("git://h.example/x.git", "is fetched by git"),
    ("git+http://h.example/x", "is fetched by http"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "means", "canonical"), READ, ids=[typed for typed, _, _ in READ])
def test_a_source_parses_to_one_stable_canonical_form(typed: str, means: SkillSource, canonical: str) -> None:
    assert parse_source(typed) == means
    assert str(means) == canonical
    assert parse_source(canonical) == means


@pytest.mark.parametrize(("typed", "reason"), REFUSED, ids=[ascii(typed[:40]) for typed, _ in REFUSED])
def test_invalid_sources_are_refused_with_the_reason(typed: str, reason: str) -> None:
    with pytest.raises(SourceUnreadable, match=reason) as refused:
        parse_source(typed)
    assert refused.value.code == "SOURCE_UNREADABLE"
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("typed", ["http://h.example/x.git", "git://h.example/x", "http://h.example/skills.zip"])
def test_insecure_sources_need_an_explicit_option(typed: str) -> None:
    with pytest.raises(SourceUnreadable) as refused:
        parse_source(typed)
    assert "--insecure" in str(refused.value.hint)
    assert parse_source(typed, insecure=True).location == typed


@pytest.mark.parametrize(
    "typed", ["https://a:s3cret@h.example/x.git", "https://s3cret@h.example/x", "ssh://a:s3cret@h/x"]
)
def test_a_password_in_a_url_is_refused_and_not_repeated(typed: str) -> None:
    with pytest.raises(SourceUnreadable, match="which the lock would show") as refused:
        parse_source(typed)
    assert "s3cret" not in f"{refused.value}{refused.value.hint}{refused.value.facts}"


def test_options_equal_the_suffixes_of_a_source() -> None:
    assert parse_source("o/r", ref="v1", path="/a//b/", skills=["p", "q", "p"]) == parse_source("o/r#v1:a/b@p,q")
    assert parse_source("o/r@p", skills=["*"]).skills == ("p", "*")
    assert parse_source("x.zip", path="a", skills=["p"]) == parse_source("x.zip#:a@p")
    assert parse_source("o/r/a#v1", ref="v1", path="a") == parse_source("o/r/a#v1")


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        ("o/r#v1", {"ref": "v2"}),
        ("o/r/a", {"path": "b"}),
        ("./dir", {"ref": "v1"}),
        ("x.zip", {"ref": "v1"}),
        ("https://h.example/", {"ref": "v1"}),
        ("o/r", {"ref": "--upload-pack=x"}),
        ("o/r", {"path": "a/../.."}),
        ("o/r", {"skills": [" "]}),
        ("https://github.com/o/r/tree/main/a", {"ref": "other"}),
        ("https://github.com/o/r/tree/main/a", {"path": "b"}),
    ],
)
def test_an_option_that_contradicts_the_source_is_refused(typed: str, options: dict[str, str]) -> None:
    with pytest.raises(SourceUnreadable):
        parse_source(typed, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("typed", ["./dir", "~/dir", "/a b/c"])
def test_a_ref_on_a_directory_suggests_its_repository(typed: str) -> None:
    with pytest.raises(SourceUnreadable) as refused:
        parse_source(typed, ref="v1")
    assert refused.value.hint == "for a repository there, write its whole path as file:///…#v1"


def test_a_version_instead_of_a_skill_suggests_a_ref() -> None:
    assert str(as_ref(parse_source("o/r@v1.2"))) == "github:o/r#v1.2"
    assert str(as_ref(parse_source(f"o/r@{COMMIT}"))) == f"github:o/r#{COMMIT}"
    assert str(as_ref(parse_source("https://h.example/x.git#@main"))) == "https://h.example/x.git#main"
    for typed in ("o/r@pdf", "o/r", "o/r#v1@v2", "o/r@v1,v2", "./dir#@v1"):
        assert as_ref(parse_source(typed)) is None


def test_a_repository_name_that_is_also_a_path_is_refused() -> None:
    here = {"o/r", "o/r/sub", "o/x.zip"}
    for typed, path, repository in [
        ("o/r", "./o/r", "github:o/r"),
        ("o/r/sub", "./o/r/sub", "github:o/r/sub"),
        ("o/r#v1@pdf", "./o/r", "github:o/r#v1@pdf"),
    ]:
        with pytest.raises(SourceUnreadable, match="is a path here") as refused:
            refuse_directory(typed, here.__contains__)
        assert refused.value.hint is not None
        assert path in refused.value.hint
        assert repository in refused.value.hint
    for typed in ("o/other", "./o/r", "github:o/r", "o/x.zip", "https://github.com/o/r", "word"):
        refuse_directory(typed, here.__contains__)
