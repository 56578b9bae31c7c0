"""Where skills come from, as a person types it, and one canonical form of each. Pure.

| typed | is |
|---|---|
| `./dir`, `/dir`, `~/dir`, `C:/dir`, each with `/SKILL.md` too | a directory |
| `file.zip`, `.tar`, `.tar.gz`, `.tgz`, `.skill` | an archive |
| `owner/repo`, `owner/repo/sub/path`, `owner/repo@skill`, `gitlab:group/…/repo` | a repository, over https |
| `https://…/x.git`, `ssh://…`, `git@host:x.git`, `file:///…`, `git+https://…` | a repository |
| a page of GitHub or GitLab that shows a ref, a path, a commit or a tag | that place of a repository |
| `https://host/…` | an archive, a SKILL.md or an index of skills, by what it answers |

Behind a repository may stand `#REF`, `#REF:PATH` and `#REF:PATH@SKILL,SKILL`, without any of the parts; behind anything
else `#:PATH@SKILL`. A percent escape stands for a sign.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from urllib.parse import SplitResult, quote, unquote, urlsplit

from skillhub_mcp.errors import SourceUnreadable
from skillhub_mcp.locks.lock_file import LockedSkill
from skillhub_mcp.redaction import REDACTED, redacted, redacted_query
from skillhub_mcp.skills.model import SKILL_FILE

ALL_SKILLS = "*"
GITHUB, GITLAB = "github.com", "gitlab.com"

_MAX_CHARACTERS = 4_096
_SHOWN_CHARACTERS = 200
_HOSTS = frozenset({GITHUB, GITLAB, "bitbucket.org", "codeberg.org", "gitea.com", "git.sr.ht"})
# Pages of a repository that are one file: an archive, or the text of a SKILL.md.
_FILES = frozenset({"archive", "zipball", "tarball", "raw"})
_PLACES = frozenset({"tree", "blob", "commit", "tags"})
_URL_CHARACTERS = "/%:@!$&'()*+,;=~-._"
_ARCHIVE = re.compile(r"[^/\\]\.(?:zip|tar|tar\.gz|tgz|skill)\Z", re.IGNORECASE)
_WINDOWS_PATH = re.compile(r"\\\\|[A-Za-z]:[/\\]|\.{1,2}\\|~\\")
_DOCUMENT = re.compile(r"(?<=[/\\])(?:SKILL|skill)\.md\Z")
_PATH = re.compile(rf"(?:\.{{1,2}}|~)(?:/|\Z)|/|{_WINDOWS_PATH.pattern}")
# A path has no ref, so that `C#/skills` is a directory.
_PATH_FRAGMENT = re.compile(r"#(?=[:@])")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_SCP = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)@([^:/@#]+):(.*)", re.DOTALL)
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_IPV6 = re.compile(r"[0-9a-f:.]*:[0-9a-f:.]*")
_THIS_MACHINE = re.compile(r"(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|::1")
_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_LIKE_A_REF = re.compile(r"v?\d+(?:\.\d+)*(?:[-+.].*)?\Z|(?:main|master|trunk|develop|HEAD)\Z|refs/|[0-9a-f]{7,64}\Z")
# git-check-ref-format(1), and what a refspec or an option begins with.
_NO_REF = re.compile(r"[-+/.]|.*(?:[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|/\.|\.lock(?:/|\Z)|[/.]\Z)|@\Z")
_BARE_PASSWORD = re.compile(r"\A((?!github:|gitlab:)[^/:@\s]+):[^/@\s]+@")
_PAGES = "give the repository's URL, or a page of a branch or directory"
_FORMS = "write a path such as ./skills, owner/repo, a URL, or git@host:owner/repo.git"


class SourceKind(str, Enum):
    """What a source is by its form. A directory and an archive are on this machine."""

    DIRECTORY = "directory"
    ARCHIVE = "archive"
    GIT = "git"
    WEB = "web"


@dataclass(frozen=True, slots=True)
class SkillSource:
    """Where skills come from. `str()` of it is the canonical form, which parses back to an equal value.

    `location` is a path as it was typed, or a URL, in which `***` stands for what may be a secret in `query`. `ref` is
    a branch, tag or commit, `path` a directory within the source, `skills` the names that were asked for.
    """

    kind: SourceKind
    location: str
    ref: str = ""
    path: str = ""
    skills: tuple[str, ...] = ()
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
        location, place = self.location, f":{_escaped(self.path, '@#')}" if self.path else ""
        if name := forge_name(location, GITHUB):
            location = f"github:{name}"
        elif name := forge_name(location, GITLAB):
            location = f"gitlab:{name}"
        elif self.kind is SourceKind.GIT and location.startswith("http") and not location.endswith(".git"):
            location = f"git+{location}"
        names = ",".join(_escaped(name, "@#,/") for name in self.skills)
        fragment = f"{_escaped(self.ref, '@#:')}{place}" + (f"@{names}" if names else "")
        return f"{location}#{fragment}" if fragment else location


class _Refusal(Exception):
    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def parse_source(
    text: str, *, ref: str = "", path: str = "", skills: Sequence[str] = (), insecure: bool = False
) -> SkillSource:
    """Return the source that `text` and the options name. `insecure` allows http: and git:. Raises SourceUnreadable."""
    try:
        return _with(_read(text.strip(" "), insecure=insecure), ref=ref, path=path, skills=skills)
    except _Refusal as refusal:
        raise SourceUnreadable(_shown(text), refusal.reason, hint=refusal.hint) from None


def is_commit(ref: str) -> bool:
    """Whether a ref is the whole id of a commit."""
    return _COMMIT.match(ref) is not None


def may_be_ref(name: str) -> bool:
    """Whether git takes a name for a ref and nothing else."""
    return bool(name) and name.isprintable() and not _NO_REF.match(name)


def as_ref(source: SkillSource) -> SkillSource | None:
    """Return the source with `@WORD` read as `#WORD`, if WORD looks like a version, branch or commit."""
    if source.kind is not SourceKind.GIT or source.ref or len(source.skills) != 1:
        return None
    word = source.skills[0]
    return replace(source, ref=word, skills=()) if _LIKE_A_REF.match(word) and not _NO_REF.match(word) else None


def refuse_directory(text: str, exists: Callable[[str], bool]) -> None:
    """Raise SourceUnreadable for `owner/repo` if that also `exists` as a path: guessing would fetch from a stranger."""
    typed = text.strip(" ")
    for path in (typed, re.split("[#@]", typed, maxsplit=1)[0]):
        if _is_short(re.split("[#@]", path, maxsplit=1)[0]) and not _ARCHIVE.search(path) and exists(path):
            hint = f"write ./{path} for the path, or github:{typed} for the repository"
            raise SourceUnreadable(_shown(text), "is a path here, and may be a repository", hint=hint)


def forge_name(location: str, host: str) -> str:
    """Return `owner/repo` of a repository's URL on a host; empty for any other URL."""
    begin = f"https://{host}/"
    name = location[len(begin) : -len(".git")] if location.startswith(begin) and location.endswith(".git") else ""
    return name if all(map(_NAME.fullmatch, name.split("/"))) else ""


def _is_short(text: str) -> bool:
    """Whether a text is `owner/repo` or `owner/repo/sub/path`."""
    owner, slash, rest = text.partition("/")
    return bool(slash) and _WORD.fullmatch(owner) is not None and _NAME.fullmatch(rest.split("/", 1)[0]) is not None


def _escaped(text: str, signs: str) -> str:
    def is_sign(character: str) -> bool:
        return character in f"{signs}% " or unicodedata.category(character) == "Cf"

    return "".join(quote(character, safe="") if is_sign(character) else character for character in text)


def _shown(text: str) -> str:
    """Return a text without secrets, shortened for a message."""
    shown = redacted(text)
    if "://" not in text and not _PATH.match(text):
        # The scheme of a URL may have been forgotten.
        before, asked, query = _BARE_PASSWORD.sub(r"\1@", text).partition("?")
        shown = f"{before}?{redacted_query(query)}" if asked else before
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"


def _read(text: str, *, insecure: bool) -> SkillSource:
    if not text:
        raise _Refusal("names nothing", _FORMS)
    if len(text) > _MAX_CHARACTERS:
        raise _Refusal(f"has more than {_MAX_CHARACTERS:,} characters")
    _check_characters(text)
    scheme, scp = _SCHEME.match(text), _SCP.match(text)
    if _PATH.match(text) or (not (scheme or scp) and _ARCHIVE.search(_PATH_FRAGMENT.split(text, maxsplit=1)[0])):
        return _path_here(text if _PATH.match(text) else f"./{text}")
    _check_characters(text, visible=True)
    before, _, fragment = text.partition("#")
    if scheme is not None:
        return _with_fragment(_url(before, scheme[1].lower(), insecure=insecure), fragment)
    if (scp := _SCP.fullmatch(before)) is not None:
        user, host, path = scp.groups()
        location = f"{user}@{_host(host.lower())}:{_repository_path(path)}"
        return _with_fragment(SkillSource(SourceKind.GIT, location), fragment)
    name, colon, rest = before.partition(":")
    if colon and name.lower() in ("github", "gitlab"):
        return _with_fragment(_forge(name.lower(), rest), fragment)
    if _is_short(before.partition("@")[0]):
        return _with_fragment(_forge("github", before), fragment)
    raise _unknown(before)


def _unknown(text: str) -> _Refusal:
    first, slash, rest = text.partition("/")
    if "." in first and slash and rest and ":" not in first:
        return _Refusal("is neither a URL nor a path", f"write https://{_shown(text)} or ./{_shown(text)}")
    if _WORD.fullmatch(text):
        return _Refusal("is one word", f"write ./{text} for a directory, or owner/{text} for a repository")
    return _Refusal("is not a source of skills", _FORMS)


def _with(source: SkillSource, *, ref: str = "", path: str = "", skills: Iterable[str] = ()) -> SkillSource:
    """Return a source with what an option or a fragment adds; what it says itself must be the same."""
    ref, path = _ref(ref), _inner_path(path)
    if ref and source.kind is SourceKind.DIRECTORY:
        hint = f"for a repository there, write its whole path as file:///…#{ref}"
        raise _Refusal("has no ref, being a path", hint)
    if ref and source.kind is not SourceKind.GIT:
        raise _Refusal("has no ref, being no repository", "leave it out, or write git+https://… for one")
    for what, given, own in (("ref", ref, source.ref), ("path", path, source.path)):
        if given and own not in ("", given):
            raise _Refusal(f"names another {what} than {given!r}", "name it once")
    names = dict.fromkeys((*source.skills, *skills))
    for name in names:
        _check_characters(name)
        if not name.strip():
            raise _Refusal("asks for a skill without a name", "write the skill's name, or '*' for all")
    return replace(source, ref=ref or source.ref, path=path or source.path, skills=tuple(names))


def _with_fragment(source: SkillSource, text: str) -> SkillSource:
    place, at, names = text.partition("@")
    ref, _, path = place.partition(":")
    skills = map(_decoded, names.split(",")) if at else ()
    return _with(source, ref=_decoded(ref), path=_decoded(path), skills=skills)


def _check_characters(text: str, *, visible: bool = False) -> None:
    categories = set(map(unicodedata.category, text))
    if categories & {"Cc", "Cs", "Zl", "Zp"}:
        raise _Refusal("has a control character", "type it again")
    if visible and "Cf" in categories:
        raise _Refusal("has a character that shows nothing", "type it again")


def _decoded(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise _Refusal("has a percent escape that is not UTF-8") from None


def _ref(ref: str) -> str:
    _check_characters(ref, visible=True)
    if _NO_REF.match(ref):
        raise _Refusal(f"asks for {ref!r}, and no ref is named so", "name a branch, a tag or a commit")
    return ref.lower() if is_commit(ref.lower()) else ref


def _inner_path(path: str) -> str:
    _check_characters(path)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _Refusal("has a path that leads out of it", "leave out the two dots")
    while parts and parts[-1] in ("SKILL.md", "skill.md"):
        parts.pop()
    return "/".join(parts)


def _path_here(text: str) -> SkillSource:
    path, *rest = _PATH_FRAGMENT.split(text, maxsplit=1)
    path = _DOCUMENT.sub("", path)
    if not _WINDOWS_PATH.match(path):
        top = path[: min(len(path) - len(path.lstrip("/")), 2)]
        parts = path.rstrip(" /").split("/")
        path = top + "/".join(part for at, part in enumerate(parts) if part and (part != "." or at == 0))
    kind = SourceKind.ARCHIVE if _ARCHIVE.search(path) else SourceKind.DIRECTORY
    return _with_fragment(SkillSource(kind, path), rest[0] if rest else "")


def _forge(forge: str, text: str) -> SkillSource:
    segments = [part for part in text.split("/") if part]
    end = 2 if forge == "github" else len(segments)
    repository, path = segments[:end], "/".join(segments[end:])
    name, at, skill = repository[-1].partition("@") if repository else ("", "", "")
    repository[-1:] = [name.removesuffix(".git")]
    if len(repository) < 2 or not all(map(_NAME.fullmatch, repository)):  # noqa: PLR2004 - its owner and its name
        raise _Refusal("names no repository", f"write {forge}:owner/repo")
    if at and path:
        raise _Refusal("has a path behind a skill's name", "write the path with --path")
    location = f"https://{GITHUB if forge == 'github' else GITLAB}/{'/'.join(repository)}.git"
    found = SkillSource(SourceKind.GIT, location, path=_inner_path(_decoded(path)))
    return _with(found, skills=(_decoded(skill),) if at else ())


def _repository_path(path: str) -> str:
    """Return the path of a repository as git gets it."""
    parts = path.strip("/").split("/")
    if not parts[0] or "?" in path:
        raise _Refusal("names no repository", _FORMS)
    if parts[0].startswith("-"):
        raise _Refusal("has a path that begins with a dash, as an option does")
    if ".." in parts:
        raise _Refusal("has a path that leads out of it", "leave out the two dots")
    return quote(path.rstrip("/"), safe=_URL_CHARACTERS)


def _host(host: str) -> str:
    if _IPV6.fullmatch(host):
        return f"[{host}]"
    if not _HOST.fullmatch(host) or ".." in host:
        raise _Refusal("has an invalid host", "write it in letters, digits, dots and dashes")
    return host


def is_this_machine(host: str) -> bool:
    """Whether a host means this machine, whatever a name server says."""
    return _THIS_MACHINE.fullmatch(host) is not None


def _check_user(parts: SplitResult, scheme: str) -> None:
    if parts.password is not None or (parts.username is not None and scheme != "ssh"):
        # The location is shown, and written into the lock.
        hint = "leave it out: git asks your credential helper (gitcredentials)"
        raise _Refusal("has a user's name or password, which the lock would show", hint)
    if parts.username is not None and not _NAME.fullmatch(parts.username):
        raise _Refusal("has an invalid user")


def _file(parts: SplitResult, path: str) -> SkillSource:
    if parts.netloc.lower() not in ("", "localhost"):
        raise _Refusal("has a host behind file://", "write file:/// and the path")
    return SkillSource(SourceKind.GIT, f"file://{_repository_path(path)}")


def _url(text: str, scheme: str, *, insecure: bool) -> SkillSource:
    is_repository = scheme.startswith("git+")
    scheme = scheme.removeprefix("git+")
    if scheme not in ("https", "http", "ssh", "git", "file"):
        raise _Refusal(f"begins with {scheme}://", "skills are fetched by https, ssh or file")
    try:
        parts = urlsplit(f"{scheme}{text[text.index('://') :]}")
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise _Refusal("is not a URL", _FORMS) from None
    whole = parts.path + ("?" if parts.query else "")
    if scheme == "file":
        return _file(parts, whole)
    netloc = _host(host) + (f":{port}" if port is not None else "")
    if scheme in ("http", "git") and not (insecure or is_this_machine(host)):
        hint = f"write {'https' if scheme == 'http' else 'https or ssh'}, or add --insecure"
        raise _Refusal(f"is fetched by {scheme}, which anyone on the network can change", hint)
    _check_user(parts, scheme)
    if scheme in ("ssh", "git"):
        user = f"{parts.username}@" if parts.username else ""
        return SkillSource(SourceKind.GIT, f"{scheme}://{user}{netloc}{_repository_path(whole)}")
    if {".", ".."} & set(parts.path.split("/")):
        raise _Refusal("has a path that leads out of it", "leave out the dots")
    query = quote(parts.query, safe=f"{_URL_CHARACTERS}?")
    address = SplitResult(scheme, netloc, quote(parts.path or "/", safe=_URL_CHARACTERS), query, "")
    if (place := _page(address)) is not None:
        return place
    if is_repository:
        path = _repository_path(address.path + ("?" if query else ""))
        return SkillSource(SourceKind.GIT, address._replace(path=path).geturl())
    shown = redacted_query(query)
    return SkillSource(SourceKind.WEB, address._replace(query=shown).geturl(), query="" if shown == query else query)


def _page(address: SplitResult) -> SkillSource | None:
    """Return the place of a repository that an http(s) URL shows by its form, if any."""
    parts = [part for part in address.path.split("/") if part]
    netloc = address.netloc.removeprefix("www.")
    dashes = (at for at in range(2, len(parts) - 1) if parts[at] == "-" and parts[at + 1] in _PLACES | _FILES)
    if (end := next(dashes, 0)) != 0:
        # Any GitLab.
        repository, shown = parts[:end], parts[end + 1 :]
    elif netloc in _HOSTS:
        if len(parts) < 2 or (netloc == GITLAB and "-" in parts):  # noqa: PLR2004 - owner and name
            raise _Refusal("is not a repository's page", _PAGES)
        end = len(parts) if netloc == GITLAB else 2
        repository, shown = parts[:end], parts[end:]
    else:
        for at, part in enumerate(parts):
            # Azure DevOps writes `_git` before the name.
            if (part.endswith(".git") and part != ".git") or (at > 0 and parts[at - 1] == "_git"):
                location = f"{address.scheme}://{netloc}/{'/'.join(parts[: at + 1])}"
                return SkillSource(SourceKind.GIT, location, path=_inner_path(_decoded("/".join(parts[at + 1 :]))))
        return None
    if shown and (shown[0] in _FILES or shown[:2] == ["releases", "download"]):
        return None
    return _shown_place(address.scheme, netloc, repository, shown)


def _shown_place(scheme: str, netloc: str, repository: Sequence[str], shown: Sequence[str]) -> SkillSource:
    name = "/".join(repository).removesuffix(".git")
    found = SkillSource(SourceKind.GIT, f"{scheme}://{netloc}/{name}.git")
    if not shown:
        return found
    place = _inner_path(_decoded("/".join(shown[1:])))
    first, _, rest = place.partition("/")
    if first and shown[0] in ("commit", "tags") and not rest:
        return _with(found, ref=first)
    if shown[:2] == ["releases", "tag"] and rest:
        return _with(found, ref=rest)
    if first and shown[0] in ("tree", "blob"):
        return _with(found, ref=first, path=rest)
    raise _Refusal(f"is a page of a repository ({shown[0]}), and no place in it", _PAGES)


_GITHUB, _GITLAB, _GIT, _LOCAL, _URL, _WELL_KNOWN = "github", "gitlab", "git", "local", "url", "well-known"


def locked_from(name: str, source: SkillSource, path: str, *, artifact: str = "") -> LockedSkill:
    """Return the entry of the skill `name` at `path` of its source; `artifact` is its digest in a site's index."""
    document = document_of(path)
    if source.kind is SourceKind.WEB and artifact:
        host = (urlsplit(source.location).hostname or "").removeprefix("www.")
        inner = document if path != name else ""
        found = LockedSkill(name, host, _WELL_KNOWN, source_url=source.location, skill_path=inner)
        return replace(found, well_known_digest=artifact)
    where, kind = source.location, {SourceKind.GIT: _GIT, SourceKind.WEB: _URL}.get(source.kind, _LOCAL)
    for host, forge in ((GITHUB, _GITHUB), (GITLAB, _GITLAB)):
        if short := forge_name(where, host):
            where, kind = short, forge
    return LockedSkill(name, where, kind, ref=source.ref, skill_path=document)


def source_of(locked: LockedSkill, *, insecure: bool = False) -> SkillSource:
    """Return the source of an entry, without the skill's place in it. Raises SourceUnreadable."""
    kind, typed = locked.source_type, locked.source
    if kind in (_GITHUB, _GITLAB):
        text = f"{kind}:{typed}" if "://" not in typed and "@" not in typed else typed
        return parse_source(text, ref=locked.ref, insecure=insecure)
    if kind == _GIT:
        plain = typed.startswith(("http://", "https://")) and not typed.endswith(".git")
        return parse_source(f"git+{typed}" if plain else typed, ref=locked.ref, insecure=insecure)
    if kind == _LOCAL:
        text = typed if os.path.isabs(typed) or typed.startswith(("~", ".")) else f"./{typed}"
        return parse_source(text, insecure=insecure)
    if kind == _URL:
        return parse_source(typed, insecure=insecure)
    if kind == _WELL_KNOWN:
        return parse_source(locked.source_url, skills=[place_of(locked) or locked.name], insecure=insecure)
    raise SourceUnreadable(typed, f"is of the kind {kind!r}, from which SkillHub does not fetch")


def place_of(locked: LockedSkill) -> str:
    """Return the directory of a skill in its source, `""` for its top; of a site's index, its name there."""
    if not locked.skill_path and locked.source_type == _WELL_KNOWN:
        return locked.name
    return locked.skill_path.removesuffix(SKILL_FILE).strip("/")


def document_of(place: str) -> str:
    """Return the path of the SKILL.md of the skill at `place` of a source."""
    return f"{place}/{SKILL_FILE}" if place else SKILL_FILE


def is_same_place(first: LockedSkill, second: LockedSkill) -> bool:
    """Whether two entries are of one skill of one source, whatever ref of it."""

    def place(locked: LockedSkill) -> tuple[str, str, str, str]:
        return locked.source_type, locked.source, locked.source_url, place_of(locked)

    return place(first) == place(second)


def shown_source(locked: LockedSkill) -> str:
    """Return where an entry is from as a person would type it, as far as that can be said."""
    try:
        return str(source_of(locked))
    except SourceUnreadable:
        return redacted(locked.source)
