"""Where skills come from, as a person types it, and one canonical form of each. Pure: nothing is looked at.

| typed | is |
|---|---|
| `./dir`, `/dir`, `~/dir`, `C:/dir`, each with `/SKILL.md` too | a directory |
| `file.zip`, `.tar`, `.tar.gz`, `.tgz`, `.skill` | an archive |
| `owner/repo`, `owner/repo/sub/path`, `github:…`, `gitlab:group/…/repo` | a repository, over https |
| `https://…/x.git`, `ssh://…`, `git@host:x.git`, `file:///…`, `git+https://…` | a repository |
| a page of a repository's ref and path, as forges show it (`library.forges`) | that place of a repository |
| `https://host/…` | an archive, a SKILL.md or an index of skills, by what it answers |

Behind a repository stands `@SKILL`, or `#REF`, `#REF:PATH` and `#REF:PATH@SKILL,SKILL`, each part of which may be
left out; behind anything else `#:PATH@SKILL`. A percent escape stands there for what would be read as one of the signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from urllib.parse import SplitResult, quote, unquote, urlsplit

from skillhub_mcp.errors import SourceUnreadable
from skillhub_mcp.library.sources.forges import (
    GITHUB,
    GITLAB,
    URL_CHARACTERS,
    NoPlace,
    RepositoryPlace,
    page_of,
    place_of,
)
from skillhub_mcp.redaction import REDACTED, redacted, redacted_query

ALL_SKILLS = "*"

_MAX_CHARACTERS = 4_096
_SHOWN_CHARACTERS = 200
_ARCHIVE = re.compile(r"[^/\\]\.(?:zip|tar|tar\.gz|tgz|skill)\Z", re.IGNORECASE)
_WINDOWS_PATH = re.compile(r"\\\\|[A-Za-z]:[/\\]|\.{1,2}\\|~\\")
_DOCUMENT = re.compile(r"(?<=[/\\])(?:SKILL|skill)\.md\Z")
_PATH = re.compile(rf"(?:\.{{1,2}}|~)(?:/|\Z)|/|{_WINDOWS_PATH.pattern}")
# Behind a path: a place or skills, never a ref, so that `C#/skills` is a directory.
_PATH_FRAGMENT = re.compile(r"#(?=[:@])")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_SCP = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)@([^:/@#]+):(.*)", re.DOTALL)
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_IPV6 = re.compile(r"[0-9a-f:.]*:[0-9a-f:.]*")
_THIS_MACHINE = re.compile(r"localhost|(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|::1")
_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_LIKE_A_REF = re.compile(r"v?\d+(?:\.\d+)*(?:[-+.].*)?\Z|(?:main|master|trunk|develop|HEAD)\Z|refs/|[0-9a-f]{7,64}\Z")
# git-check-ref-format(1), and what a refspec or an option begins with.
_NO_REF = re.compile(r"[-+/.]|.*(?:[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|/\.|\.lock(?:/|\Z)|[/.]\Z)|@\Z")
_BARE_PASSWORD = re.compile(r"\A((?!github:|gitlab:)[^/:@\s]+):[^/@\s]+@")
_SCHEMES = ("https", "http", "ssh", "git", "file")
_FORMS = "write a path such as ./skills, owner/repo, a URL, or git@host:owner/repo.git"
_LEADS_OUT = "has a path that leads out of it"


class SourceKind(str, Enum):
    """What a source is, as far as its name tells. A directory and an archive are on this machine."""

    DIRECTORY = "directory"
    ARCHIVE = "archive"
    GIT = "git"
    WEB = "web"


@dataclass(frozen=True, slots=True)
class SkillSource:
    """Where skills come from. `str()` of it is the canonical form, which parses back to an equal value.

    `location` is a path as it was typed, `~` unexpanded, or a URL. `ref` is a branch, a tag or a commit of a
    repository, empty for the one that it shows first; `path` a directory within the source, with `/`; `skills` the
    names that were asked for, `*` for all. `ref_and_path` is both as a forge's page writes them, where only the
    repository knows which of its segments are the ref; `ref` and `path` are empty then. `query` is the whole query of a
    site's URL: the location has `***` for what may be a secret in it.
    """

    kind: SourceKind
    location: str
    ref: str = ""
    path: str = ""
    skills: tuple[str, ...] = ()
    ref_and_path: str = ""
    query: str = field(default="", compare=False, repr=False)

    @property
    def address(self) -> str:
        """The location with its whole query, to fetch from and never to show."""
        return urlsplit(self.location)._replace(query=self.query).geturl() if self.query else self.location

    @property
    def lacks_secret(self) -> bool:
        """Whether the location had a secret in its query that is not known any more."""
        return not self.query and REDACTED in urlsplit(self.location).query.split("&")

    def __str__(self) -> str:
        names = ",".join(_escaped(name, "@#,/") for name in self.skills)
        skills = f"@{names}" if names else ""
        place = f":{_escaped(self.path, '@#')}" if self.path else ""
        location = self.location
        if self.ref_and_path:
            location, place = page_of(location, self.ref_and_path), ""
        elif (name := _name_at(location, GITHUB)) is not None:
            # The path is not escaped for `@`: behind the repository's own name it is a sign no more.
            location, place = f"github:{name}" + (f"/{_escaped(self.path, '#')}" if self.path else ""), ""
            if not self.ref and not self.path:
                return location + skills
        elif (name := _name_at(location, GITLAB)) is not None:
            location = f"gitlab:{name}"
            if not self.ref and not self.path:
                return location + skills
        elif self.kind is SourceKind.GIT and location.startswith("http") and not _is_plain(location):
            location = f"git+{location}"
        fragment = f"{_escaped(self.ref, '@#:')}{place}{skills}"
        return f"{location}#{fragment}" if fragment else location


def parse_source(
    text: str, *, ref: str = "", path: str = "", skills: Sequence[str] = (), insecure: bool = False
) -> SkillSource:
    """Return the source that `text` names, with the options `--ref`, `--path` and `--skill` where they were given.

    `insecure` permits `http:` and `git:` to other machines. Raises SourceUnreadable.
    """
    reader = _Reader(text, insecure=insecure)
    source = reader.read(text.strip(" "))
    return reader.with_place(source, ref=ref, path=path, skills=skills)


def is_commit(ref: str) -> bool:
    """Whether a ref is the whole id of a commit, which always means the same."""
    return _COMMIT.match(ref) is not None


def may_be_ref(name: str) -> bool:
    """Whether a branch, a tag or a ref may be named so, and git takes it for nothing else."""
    return bool(name) and name.isprintable() and not _NO_REF.match(name)


def as_ref(source: SkillSource) -> SkillSource | None:
    """Return the source with `@WORD` read as `#WORD`, if its one skill's name looks like a version, branch or commit.

    It is what to propose for `owner/repo@v1.2` where no skill is named `v1.2`.
    """
    if source.kind is not SourceKind.GIT or source.ref or source.ref_and_path or len(source.skills) != 1:
        return None
    word = source.skills[0]
    return replace(source, ref=word, skills=()) if _LIKE_A_REF.match(word) and not _NO_REF.match(word) else None


def refuse_directory(text: str, exists: Callable[[str], bool]) -> None:
    """Refuse `owner/repo` where that is also a path here: it may mean either, and guessing would fetch from a stranger.

    `exists` tells it of a path below the working directory. Raises SourceUnreadable with both spellings.
    """
    typed = text.strip(" ")
    for path in (typed, re.split("[#@]", typed, maxsplit=1)[0]):
        if _is_short(path.partition("#")[0].partition("@")[0]) and not _ARCHIVE.search(path) and exists(path):
            raise SourceUnreadable(
                _shown(text),
                "is a path here, and may be a repository",
                hint=f"write ./{path} for the path, or github:{typed} for the repository",
            )


def _is_short(text: str) -> bool:
    """Whether a text is `owner/repo` or `owner/repo/sub/path`."""
    owner, slash, rest = text.partition("/")
    return bool(slash) and _WORD.fullmatch(owner) is not None and _NAME.fullmatch(rest.split("/", 1)[0]) is not None


def _name_at(location: str, host: str) -> str | None:
    begin = f"https://{host}/"
    if not location.startswith(begin) or not location.endswith(".git"):
        return None
    name = location[len(begin) : -len(".git")]
    return name if all(map(_NAME.fullmatch, name.split("/"))) else None


def _is_plain(location: str) -> bool:
    """Whether a URL alone tells that it is a repository's."""
    try:
        return place_of(urlsplit(location)) == RepositoryPlace(location)
    except NoPlace:
        return False


def _escaped(text: str, signs: str) -> str:
    """Return a text with percent escapes for `signs`, spaces, percent signs and what shows nothing."""
    return "".join(
        quote(character, safe="") if character in f"{signs}% " or unicodedata.category(character) == "Cf" else character
        for character in text
    )


def _shown(text: str) -> str:
    """Return a text without secrets, as long as a message may have it."""
    shown = redacted(text)
    if "://" not in text and not _PATH.match(text):
        # The scheme of a URL may have been forgotten.
        before, asked, query = _BARE_PASSWORD.sub(r"\1@", text).partition("?")
        shown = f"{before}?{redacted_query(query)}" if asked else before
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"


@dataclass(frozen=True, slots=True)
class _Fragment:
    ref: str = ""
    path: str = ""
    skills: tuple[str, ...] = ()


class _Reader:
    """Reads one text; every refusal shows it as it was typed, without secrets."""

    def __init__(self, text: str, *, insecure: bool) -> None:
        self._text = text
        self._insecure = insecure

    def read(self, text: str) -> SkillSource:
        self._check_whole(text)
        before_fragment = _PATH_FRAGMENT.split(text, maxsplit=1)[0]
        has_scheme = _SCHEME.match(text)
        if _PATH.match(text):
            return self._path_here(text)
        if has_scheme is None and _SCP.match(text) is None and _ARCHIVE.search(before_fragment):
            return self._path_here(f"./{text}")
        self._check_visible(text)
        before, sign, fragment_text = text.partition("#")
        fragment = self._fragment(fragment_text)
        if has_scheme is not None:
            return self._url(before, has_scheme[1].lower(), fragment, has_fragment=bool(sign))
        if (scp := _SCP.fullmatch(before)) is not None:
            return self._with(self._scp(*scp.groups()), fragment)
        name, colon, rest = before.partition(":")
        if colon and name.lower() in ("github", "gitlab"):
            return self._with(self._forge(name.lower(), rest), fragment)
        if _is_short(before.partition("@")[0]):
            return self._with(self._forge("github", before), fragment)
        raise self._unknown(before)

    def with_place(
        self, source: SkillSource, *, ref: str = "", path: str = "", skills: Iterable[str] = ()
    ) -> SkillSource:
        """Return a source with what an option or a fragment adds; what it says itself must be the same."""
        if ref:
            source = self._with_ref(source, self._ref(ref))
        if inner := self._inner_path(path):
            source = self._with_path(source, inner)
        return replace(source, skills=self._names((*source.skills, *skills)))

    def _with(self, source: SkillSource, fragment: _Fragment) -> SkillSource:
        return self.with_place(source, ref=fragment.ref, path=fragment.path, skills=fragment.skills)

    def _with_ref(self, source: SkillSource, ref: str) -> SkillSource:
        if source.kind is SourceKind.DIRECTORY:
            whole = quote(source.location, safe=URL_CHARACTERS) if source.location.startswith("/") else "/…"
            url = f"file://{whole}#{ref}"
            raise self._refused("has no ref, being a path", f"for a repository there, write its whole path as {url}")
        if source.kind is not SourceKind.GIT:
            raise self._refused("has no ref, being no repository", "leave it out, or write git+https://… for one")
        if source.ref_and_path:
            if f"{source.ref_and_path}/".startswith(f"{ref}/"):
                return replace(source, ref=ref, path=source.ref_and_path[len(ref) + 1 :], ref_and_path="")
        elif source.ref in ("", ref):
            return replace(source, ref=ref)
        raise self._refused(f"names another ref than {ref!r}", "name it once")

    def _with_path(self, source: SkillSource, path: str) -> SkillSource:
        if source.ref_and_path.endswith(f"/{path}"):
            return replace(source, ref=source.ref_and_path[: -len(path) - 1], path=path, ref_and_path="")
        if source.path in ("", path) and not source.ref_and_path:
            return replace(source, path=path)
        raise self._refused(f"names another path than {path!r}", "name it once")

    def _check_whole(self, text: str) -> None:
        if not text:
            raise self._refused("names nothing", _FORMS)
        if len(text) > _MAX_CHARACTERS:
            raise self._refused(f"has more than {_MAX_CHARACTERS:,} characters")
        self._check_characters(text)
        if text.startswith("-"):
            raise self._refused("begins with a dash, as an option does", f"write ./{text[:40]} for a path")
        if _HELPER.match(text):
            raise self._refused("names a program for git to run", "write a URL with https, ssh or file")

    def _refused(self, reason: str, hint: str | None = None) -> SourceUnreadable:
        return SourceUnreadable(_shown(self._text), reason, hint=hint)

    def _unknown(self, text: str) -> SourceUnreadable:
        first, slash, rest = text.partition("/")
        if ":" in first and slash:
            return self._refused("is no source of skills", f"for ssh, write a user before the host: git@{_shown(text)}")
        if "." in first and slash and rest:
            return self._refused("is neither a URL nor a path", f"write https://{_shown(text)} or ./{_shown(text)}")
        if _WORD.fullmatch(text):
            return self._refused("is one word", f"write ./{text} for a directory, or owner/{text} for a repository")
        return self._refused("is no source of skills", _FORMS)

    def _check_characters(self, text: str) -> None:
        if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
            raise self._refused("has a control character", "type it anew")

    def _check_visible(self, text: str) -> None:
        if any(unicodedata.category(character) == "Cf" for character in text):
            raise self._refused("has a character that shows nothing", "type it anew")

    def _decoded(self, text: str) -> str:
        try:
            return unquote(text, errors="strict")
        except UnicodeDecodeError:
            raise self._refused("has a percent escape that is not UTF-8") from None

    def _fragment(self, text: str) -> _Fragment:
        place, at, names = text.partition("@")
        ref, _, path = place.partition(":")
        skills = tuple(self._decoded(name) for name in names.split(",")) if at else ()
        return _Fragment(self._decoded(ref), self._decoded(path), skills)

    def _ref(self, ref: str) -> str:
        self._check_characters(ref)
        self._check_visible(ref)
        if _NO_REF.match(ref):
            raise self._refused(f"asks for {ref!r}, and no ref is named so", "name a branch, a tag or a commit")
        return ref.lower() if is_commit(ref.lower()) else ref

    def _inner_path(self, path: str) -> str:
        self._check_characters(path)
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise self._refused(_LEADS_OUT, "leave out the two dots")
        while parts and parts[-1] in ("SKILL.md", "skill.md"):
            parts.pop()
        return "/".join(parts)

    def _names(self, names: Iterable[str]) -> tuple[str, ...]:
        kept: dict[str, None] = {}
        for name in names:
            self._check_characters(name)
            if not name.strip():
                raise self._refused("asks for a skill without a name", "write the skill's name, or '*' for all")
            kept[name] = None
        return tuple(kept)

    def _path_here(self, text: str) -> SkillSource:
        path, *rest = _PATH_FRAGMENT.split(text, maxsplit=1)
        # A skill's document means the skill, as in a repository and on a site.
        path = _DOCUMENT.sub("", path)
        if not _WINDOWS_PATH.match(path):
            top = path[: min(len(path) - len(path.lstrip("/")), 2)]
            parts = path.rstrip(" /").split("/")
            path = top + "/".join(part for at, part in enumerate(parts) if part and (part != "." or at == 0))
        kind = SourceKind.ARCHIVE if _ARCHIVE.search(path) else SourceKind.DIRECTORY
        return self._with(SkillSource(kind, path), self._fragment(rest[0] if rest else ""))

    def _forge(self, forge: str, text: str) -> SkillSource:
        segments = [part for part in text.split("/") if part]
        end = 2 if forge == "github" else len(segments)
        repository, path = segments[:end], "/".join(segments[end:])
        name, at, skill = repository[-1].partition("@") if repository else ("", "", "")
        repository[-1:] = [name.removesuffix(".git")]
        if len(repository) < 2 or not all(map(_NAME.fullmatch, repository)):  # noqa: PLR2004 - its owner and its name
            raise self._refused("names no repository", f"write {forge}:owner/repo")
        if at and path:
            raise self._refused("has a path behind a skill's name", "write the path with --path")
        location = f"https://{GITHUB if forge == 'github' else GITLAB}/{'/'.join(repository)}.git"
        found = SkillSource(SourceKind.GIT, location, path=self._inner_path(self._decoded(path)))
        return self.with_place(found, skills=(self._decoded(skill),) if at else ())

    def _scp(self, user: str, host: str, path: str) -> SkillSource:
        path, skills = self._repository_path(path)
        return self.with_place(SkillSource(SourceKind.GIT, f"{user}@{self._host(host.lower())}:{path}"), skills=skills)

    def _repository_path(self, path: str) -> tuple[str, Sequence[str]]:
        """Return the path of a repository as git is given it, and the skill that stands behind `.git`."""
        before, _, skill = path.rpartition("@")
        skills: Sequence[str] = ()
        if before.endswith(".git"):
            path, skills = before, (self._decoded(skill),)
        parts = path.strip("/").split("/")
        if not parts[0] or "?" in path:
            raise self._refused("names no repository", _FORMS)
        if parts[0].startswith("-"):
            raise self._refused("has a path that begins with a dash, as an option does")
        if ".." in parts:
            raise self._refused(_LEADS_OUT, "leave out the two dots")
        return quote(path.rstrip("/"), safe=URL_CHARACTERS), skills

    def _host(self, host: str) -> str:
        if _IPV6.fullmatch(host):
            return f"[{host}]"
        if not _HOST.fullmatch(host) or ".." in host:
            raise self._refused("has a host that no machine is named", "write it in letters, digits, dots and dashes")
        return host

    def _url(self, text: str, scheme: str, fragment: _Fragment, *, has_fragment: bool) -> SkillSource:
        is_repository = scheme.startswith("git+")
        scheme = scheme.removeprefix("git+")
        if scheme not in _SCHEMES:
            raise self._refused(f"begins with {scheme}://", "skills are fetched by https, ssh or file")
        try:
            parts = urlsplit(f"{scheme}{text[text.index('://') :]}")
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            raise self._refused("is no URL", _FORMS) from None
        if scheme == "file":
            return self._with(self._file(parts), fragment)
        netloc = self._host(host) + (f":{port}" if port is not None else "")
        if scheme in ("http", "git") and not (self._insecure or _THIS_MACHINE.fullmatch(host)):
            better = "https" if scheme == "http" else "https or ssh"
            raise self._refused(
                f"is fetched by {scheme}, which anybody on the way can change", f"write {better}, or add --insecure"
            )
        self._check_user(parts, scheme, host)
        if scheme in ("ssh", "git"):
            path, skills = self._repository_path(parts.path + ("?" if parts.query else ""))
            user = f"{parts.username}@" if parts.username else ""
            found = self.with_place(SkillSource(SourceKind.GIT, f"{scheme}://{user}{netloc}{path}"), skills=skills)
            return self._with(found, fragment)
        segments = parts.path.split("/")
        if "." in segments or ".." in segments:
            raise self._refused(_LEADS_OUT, "leave out the dots")
        address = SplitResult(
            scheme,
            netloc,
            quote(parts.path or "/", safe=URL_CHARACTERS),
            quote(parts.query, safe=f"{URL_CHARACTERS}?"),
            "",
        )
        return self._with(
            self._web(address, is_repository=is_repository, has_ref=has_fragment and bool(fragment.ref)), fragment
        )

    def _check_user(self, parts: SplitResult, scheme: str, host: str) -> None:
        """Refuse what is a secret: the location is shown, and written into the lock."""
        user = parts.username
        # A URL that Azure gives has the organisation before the host, too.
        is_known = user is None or scheme == "ssh" or (host == "dev.azure.com" and parts.path.startswith(f"/{user}/"))
        if parts.password is not None or not is_known:
            raise self._refused(
                "has a user's name or password, which the lock would tell",
                "leave it out: git asks the person's credential helper (gitcredentials)",
            )
        if user is not None and not _NAME.fullmatch(user):
            raise self._refused("has a user that no account is named")

    def _file(self, parts: SplitResult) -> SkillSource:
        if parts.netloc.lower() not in ("", "localhost"):
            raise self._refused("has a host behind file://", "write file:/// and the path")
        path, skills = self._repository_path(parts.path + ("?" if parts.query else ""))
        if _ARCHIVE.search(path):
            raise self._refused("is an archive, and file:// is for repositories", f"write {unquote(path)}")
        return self.with_place(SkillSource(SourceKind.GIT, f"file://{path}"), skills=skills)

    def _web(self, address: SplitResult, *, is_repository: bool, has_ref: bool) -> SkillSource:
        try:
            place = place_of(address)
        except NoPlace as error:
            if not is_repository:
                hint = "give the repository's URL, or the page of a branch or directory"
                raise self._refused(str(error), hint) from None
            place = None
        if place is not None:
            return self._place(place)
        if is_repository:
            path, skills = self._repository_path(address.path + ("?" if address.query else ""))
            return self.with_place(SkillSource(SourceKind.GIT, address._replace(path=path).geturl()), skills=skills)
        if has_ref:
            hint = f"write git+{address.geturl()}#REF for one"
            raise self._refused("has a ref, and may be no repository", hint)
        shown = redacted_query(address.query)
        query = "" if shown == address.query else address.query
        return SkillSource(SourceKind.WEB, address._replace(query=shown).geturl(), query=query)

    def _place(self, place: RepositoryPlace) -> SkillSource:
        site = urlsplit(place.location)
        location = site._replace(netloc=site.netloc.removeprefix("www.")).geturl()
        source = SkillSource(SourceKind.GIT, location)
        both = self._inner_path(self._decoded(place.ref_and_path))
        first, _, rest = both.partition("/")
        if first and (not rest or first == "HEAD" or is_commit(first)):
            source = self.with_place(source, ref=first, path=rest)
        elif first:
            source = replace(source, ref_and_path=both)
        skills = (self._decoded(place.skill),) if place.skill else ()
        return self.with_place(source, ref=self._decoded(place.ref), path=self._decoded(place.path), skills=skills)
