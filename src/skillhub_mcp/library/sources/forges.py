"""Which repository, ref and path an http(s) URL names, by its form alone. Pure: no page is fetched.

Read are pages of github.com (`/o/r/tree/REF/PATH`, `/blob/`, `/commit/ID`, `/releases/tag/TAG`) and of any GitLab
(`/g/…/r/-/tree/REF/PATH`, `/-/blob/`, `/-/commit/`, `/-/tags/`), repositories of known hosts, and any `x.git`. A ref
may have slashes, so the repository tells where it ends within REF/PATH.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, quote

GITHUB = "github.com"
GITLAB = "gitlab.com"
_HOSTS = frozenset({GITHUB, GITLAB, "bitbucket.org", "codeberg.org", "gitea.com", "git.sr.ht"})
# Below a repository, these are one file: an archive, or the text of a SKILL.md.
_FILES = frozenset({"archive", "zipball", "tarball", "raw"})
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
    for at in range(2, len(segments) - 1):
        if segments[at] == "-" and segments[at + 1] in {"tree", "blob", "commit", "tags", *_FILES}:
            return _page(address, segments[:at], segments[at + 1 :])
    if host in _HOSTS:
        if len(segments) < 2:  # noqa: PLR2004 - owner and name
            raise NoPlace("is not a repository's page")
        if host == GITLAB and "-" in segments:
            raise NoPlace(f"is a page of a repository ({segments[-1]}), and no place in it")
        end = len(segments) if host == GITLAB else 2
        return _page(address, segments[:end], segments[end:])
    for at, part in enumerate(segments):
        name, _, skill = part.partition("@")
        # Azure DevOps writes `_git` before the name.
        if (name.endswith(".git") and name != ".git") or (at > 0 and segments[at - 1] == "_git"):
            return RepositoryPlace(_at(address, [*segments[:at], name]), path="/".join(segments[at + 1 :]), skill=skill)
    return None


def page_of(location: str, ref_and_path: str) -> str:
    """Return the URL of the page that shows a place of the repository at `location`, for `place_of` to read."""
    word = "tree" if location.startswith(f"https://{GITHUB}/") else "-/tree"
    return f"{location.removesuffix('.git')}/{word}/{quote(ref_and_path, safe=URL_CHARACTERS.replace('%', ''))}"


def _page(address: SplitResult, repository: list[str], shown: list[str]) -> RepositoryPlace | None:
    name, _, skill = repository[-1].partition("@")
    location = _at(address, [*repository[:-1], f"{name.removesuffix('.git')}.git"])
    behind = "/".join(shown[1:])
    if not shown:
        return RepositoryPlace(location, skill=skill)
    if shown[0] in _FILES or shown[:2] == ["releases", "download"]:
        return None
    if shown[0] in ("tree", "blob") and behind:
        return RepositoryPlace(location, ref_and_path=behind)
    if shown[0] in ("commit", "tags") and behind and "/" not in behind:
        return RepositoryPlace(location, ref=behind)
    if behind.startswith("tag/") and shown[0] == "releases":
        return RepositoryPlace(location, ref=behind.removeprefix("tag/"))
    raise NoPlace(f"is a page of a repository ({shown[0]}), and no place in it")


def _at(address: SplitResult, segments: list[str]) -> str:
    return f"{address.scheme}://{address.netloc}/{'/'.join(segments)}"
