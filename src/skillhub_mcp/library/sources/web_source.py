"""A site as a source: an archive or a SKILL.md by its content, else the index of skills of the site."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.archives import open_archive
from skillhub_mcp.library.sources.directory_tree import DirectoryTree
from skillhub_mcp.library.sources.download import Download, Downloader, DownloadOptions, NotThere, downloading, shown
from skillhub_mcp.library.sources.source import ALL_SKILLS
from skillhub_mcp.library.sources.well_known import (
    WELL_KNOWN_PATH,
    ArtifactKind,
    SiteSkill,
    WellKnownIndex,
    check_digest,
    index_urls,
    is_index,
    parse_index,
)
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.library.unpack import unpack_skill
from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import not_found

log = logging.getLogger(__name__)

_AT_ONCE = 6


class WebTree:
    """What a site gave: one artifact, or the skills of an index below their names. `close` removes it."""

    def __init__(self, tree: Tree, digests: Mapping[str, str], remove: Callable[[], None]) -> None:
        self._tree = tree
        self._digests = digests
        self._remove = remove
        self.commit = ""
        self.entries = tree.entries

    def tree_id(self, path: str) -> str:
        """Return the digest of the artifact at `path`; empty for any other path."""
        return self._digests.get(path, "")

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file. Raises SourceUnreachable and ArchiveRefused."""
        return self._tree.read(path)

    def close(self) -> None:
        """Remove what was fetched."""
        self._tree.close()
        self._remove()


def open_web(url: str, skills: Sequence[str], options: DownloadOptions) -> WebTree:
    """Fetch what is at `url` as a tree; of an index, the `skills` that were named, or all.

    Raises SourceUnreachable, IntegrityFailed, ArchiveRefused, and SkillNotFound for a skill that an index does not
    have.
    """
    with ExitStack() as fetched:
        directory = fetched.enter_context(scratch_directory("fetch"))
        try:
            tree, digests = asyncio.run(_within(url, skills, directory, options))
        except asyncio.TimeoutError as error:
            reason = f"took too long: more than {options.limits.total_seconds:g} seconds in all"
            raise SourceUnreachable(shown(url), reason, hint="name fewer skills with --skill") from error
        return WebTree(tree, digests, fetched.pop_all().close)


async def _within(
    url: str, skills: Sequence[str], directory: str, options: DownloadOptions
) -> tuple[Tree, Mapping[str, str]]:
    return await asyncio.wait_for(_fetch(url, skills, directory, options), options.limits.total_seconds)


async def _fetch(
    url: str, skills: Sequence[str], directory: str, options: DownloadOptions
) -> tuple[Tree, Mapping[str, str]]:
    """Return what is fetched, and the digest of each artifact by its path; of one by itself that is `""`."""
    async with downloading(url, directory, options) as downloader:
        answer: Download | SourceUnreachable
        try:
            answer = await downloader.get(url)
        except NotThere as error:
            answer = error
        index = None
        if isinstance(answer, Download):
            if answer.is_archive:
                return open_archive(answer.path, shown(url)), {"": answer.digest}
            content = answer.content()
            if is_skill(content):
                place = os.path.join(directory, "skill")
                os.mkdir(place)
                os.rename(answer.path, os.path.join(place, SKILL_FILE))
                return DirectoryTree(place), {"": answer.digest}
            if is_index(content):
                index = parse_index(content, answer.url)
        index = index or await _find_index(url, skills, answer, downloader)
        place = os.path.join(directory, "skills")
        os.mkdir(place)
        digests = await _artifacts(index, skills, downloader, place)
        return DirectoryTree(place), digests


def is_skill(content: bytes) -> bool:
    """Whether a text is a SKILL.md: it begins with a frontmatter that has a name and a description."""
    values = parse(content).values
    return values is not None and all(isinstance(values.get(key), str) for key in ("name", "description"))


async def _find_index(
    url: str, skills: Sequence[str], answer: Download | SourceUnreachable, downloader: Downloader
) -> WellKnownIndex:
    """Return the index of the site; `answer` is what the site gave or said for `url` itself."""
    refusals = [answer] if isinstance(answer, NotThere) else []
    places = index_urls(url)
    for place in places:
        try:
            found = await downloader.get(place)
        except NotThere as error:
            refusals.append(error)
            continue
        content = found.content()
        if not is_index(content) and not urlsplit(found.url).path.endswith(".json"):
            continue
        if place != places[0] and not skills:
            # A path does not mean all skills of its host.
            hint = f"its host has one, which is {shown(place).removesuffix(WELL_KNOWN_PATH)}"
            raise SourceUnreachable(shown(url), "has no index of skills of its own", hint=hint)
        return parse_index(content, found.url)
    # A refused token is reported as that.
    denied = [refusal for refusal in refusals if refusal.status not in (404, 405, 410)]
    if denied:
        raise denied[0]
    what = "is not there" if isinstance(answer, NotThere) else "is neither an archive nor a SKILL.md"
    hint = f"looked at {', '.join(map(shown, places))}"
    raise SourceUnreachable(shown(url), f"{what}, and its site has no index of skills", hint=hint)


async def _artifacts(
    index: WellKnownIndex, skills: Sequence[str], downloader: Downloader, directory: str
) -> Mapping[str, str]:
    """Fetch skills of an index into a directory, and return the digest of each by its name."""
    for skipped in index.skipped:
        log.warning("%s: %s", shown(index.url), skipped)
    if not index.entries:
        raise SourceUnreachable(shown(index.url), "lists no skill", hint="look whether the address is another")
    wanted = iter(_wanted(index, skills))
    digests: dict[str, str] = {}

    async def fetch_some() -> None:
        for entry in wanted:
            digests[entry.name] = await _artifact(entry, index, downloader, directory)

    tasks = [asyncio.create_task(fetch_some()) for _ in range(_AT_ONCE)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return digests


def _wanted(index: WellKnownIndex, skills: Sequence[str]) -> Sequence[SiteSkill]:
    """Return the entries to fetch. Raises SkillNotFound."""
    if not skills or ALL_SKILLS in skills:
        return index.entries
    by_name = {entry.name: entry for entry in index.entries}
    for name in skills:
        if name.lower() not in by_name:
            raise not_found(name, by_name, search_tool="", reason=f"{shown(index.url)} does not list it")
    return [by_name[name] for name in dict.fromkeys(name.lower() for name in skills)]


async def _artifact(entry: SiteSkill, index: WellKnownIndex, downloader: Downloader, directory: str) -> str:
    download = await downloader.get(entry.url, came_from=index.url)
    check_digest(entry, shown(index.url), download.digest)
    place = os.path.join(directory, entry.name)
    os.mkdir(place)
    if entry.kind is ArtifactKind.SKILL_MD:
        os.rename(download.path, os.path.join(place, SKILL_FILE))
    else:
        with closing(open_archive(download.path, shown(entry.url))) as tree:
            for note in unpack_skill(tree, "", place, name=shown(entry.url)).notes:
                log.warning("%s: %s", entry.name, note)
    return download.digest
