"""Which repository, ref and path a page of a forge shows, by its URL alone. Pure; a forge is a site with repositories.

| site | page |
|---|---|
| github.com | `/o/r/tree/REF/PATH`, `/blob/`, `/commit/ID`, `/releases/tag/TAG` |
| GitLab, anywhere | `/g/…/r/-/tree/REF/PATH`, `/-/blob/`, `/-/commit/`, `/-/tags/` |
| Gitea and Forgejo, anywhere | `/o/r/src/branch/REF/PATH`, `/src/tag/`, `/src/commit/` |
| bitbucket.org | `/o/r/src/REF/PATH` |
| Azure DevOps, anywhere | `/…/_git/r?path=/PATH&version=GBREF` |

A ref may have slashes, so where it ends within REF/PATH is for the repository to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

GITHUB = "github.com"
GITLAB = "gitlab.com"
_BITBUCKET = "bitbucket.org"
_GITEAS = frozenset({"codeberg.org", "gitea.com"})
_SITES = frozenset({GITHUB, GITLAB, _BITBUCKET, *_GITEAS, "git.sr.ht"})
_GITLAB_PAGES = frozenset({"tree", "blob", "commit", "commits", "tags", "archive", "raw"})
_GITEA_REFS = frozenset({"branch", "tag", "commit"})
# What these show below a repository that is one file: an archive, or the text of a SKILL.md.
_FILES = (("archive",), ("releases", "download"), ("raw",), ("zipball",), ("tarball",), ("-", "archive"), ("-", "raw"))
# What a path of a URL holds as it is; `%` since a URL that was typed is escaped already.
URL_CHARACTERS = "/%:@!$&'()*+,;=~-._"


@dataclass(frozen=True, slots=True)
class RepositoryPlace:
    """A repository's URL, and what of it a page shows, percent escapes as they were. `skill` stood behind its name."""

    location: str
    ref: str = ""
    path: str = ""
    ref_and_path: str = ""
    skill: str = ""


class NoPlace(ValueError):
    """A page of a forge that shows no place of a repository; the text completes `it …`."""


def place_of(address: SplitResult) -> RepositoryPlace | None:
    """Return what the page at an http(s) URL shows; None if nothing tells that it is a repository's. Raises NoPlace."""
    segments = [part for part in address.path.split("/") if part]
    host = (address.hostname or "").removeprefix("www.") if address.port is None else address.netloc
    if "_git" in segments[:-1]:
        return _azure(address, segments)
    for at, part in enumerate(segments[:-1]):
        if at > 1 and part == "-" and segments[at + 1] in _GITLAB_PAGES:
            return _page(address, segments[:at], segments[at:])
    if len(segments) > 3 and segments[2] == "src" and segments[3] in _GITEA_REFS:  # noqa: PLR2004 - owner and name
        return _page(address, segments[:2], segments[2:])
    if host in _SITES:
        if len(segments) < 2:  # noqa: PLR2004 - owner and name
            raise NoPlace("is not a repository's page")
        if host == GITLAB and "-" in segments:
            raise NoPlace(f"is a page of a repository ({segments[-1]}), and no place in it")
        end = len(segments) if host == GITLAB else 2
        return _page(address, segments[:end], segments[end:])
    for at, part in enumerate(segments):
        name, _, skill = part.partition("@")
        if name.endswith(".git") and name != ".git":
            return RepositoryPlace(_at(address, [*segments[:at], name]), path="/".join(segments[at + 1 :]), skill=skill)
    return None


def page_of(location: str, ref_and_path: str) -> str:
    """Return the URL of the page that shows a place of the repository at `location`, for `place_of` to read."""
    site = urlsplit(location)
    host = site.netloc
    word = "tree" if host == GITHUB else "src" if host == _BITBUCKET else "src/branch" if host in _GITEAS else "-/tree"
    return f"{location.removesuffix('.git')}/{word}/{quote(ref_and_path, safe=URL_CHARACTERS.replace('%', ''))}"


def _page(address: SplitResult, repository: list[str], rest: list[str]) -> RepositoryPlace | None:
    name, _, skill = repository[-1].partition("@")
    location = _at(address, [*repository[:-1], f"{name.removesuffix('.git')}.git"])
    shown = tuple(rest)
    if not shown:
        return RepositoryPlace(location, skill=skill)
    if any(shown[: len(words)] == words for words in _FILES):
        return None
    words = shown[1:] if shown[0] == "-" else shown
    behind = "/".join(words[1:])
    if words[0] in ("tree", "blob") and behind:
        return RepositoryPlace(location, ref_and_path=behind)
    if words[0] == "src" and len(words) > 1:
        is_gitea = words[1] in _GITEA_REFS and len(words) > 2  # noqa: PLR2004 - the kind of ref before it
        return RepositoryPlace(location, ref_and_path="/".join(words[2:] if is_gitea else words[1:]))
    if words[0] in ("commit", "commits", "tags") and behind and "/" not in behind:
        return RepositoryPlace(location, ref=behind)
    if words[:2] == ("releases", "tag") and len(words) > 2:  # noqa: PLR2004 - the tag behind it
        return RepositoryPlace(location, ref="/".join(words[2:]))
    raise NoPlace(f"is a page of a repository ({words[0]}), and no place in it")


def _azure(address: SplitResult, segments: list[str]) -> RepositoryPlace:
    at = segments.index("_git")
    asked = parse_qs(address.query)
    version = asked.get("version", [""])[0]
    if version and version[:2] not in ("GB", "GT", "GC"):
        raise NoPlace("has a version that is no branch, tag or commit")
    path = asked.get("path", [""])[0]
    name, _, skill = segments[at + 1].partition("@")
    return RepositoryPlace(
        _at(address, [*segments[: at + 1], name]),
        ref=quote(version[2:], safe="/"),
        path=quote(path, safe="/"),
        skill=skill,
    )


def _at(address: SplitResult, segments: list[str]) -> str:
    return f"{address.scheme}://{address.netloc}/{'/'.join(segments)}"
