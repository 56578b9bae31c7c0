"""A site as a source: an archive or a SKILL.md by its content, else the index of skills of the site."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import urlsplit

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.sources.directory_tree import DirectoryTree
from skillhub_mcp.library.sources.download import Download, Downloader, DownloadOptions, NotThere, downloading, shown
from skillhub_mcp.library.sources.source import ALL_SKILLS
from skillhub_mcp.library.sources.web_tree import Fetched, WebTree
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
from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.suggestions import not_found

log = logging.getLogger(__name__)

# Returns the tree of an archive, by its path on this machine and the name that messages have for it.
OpenArchive = Callable[[str, str], Tree]

_AT_ONCE = 6


def open_web(url: str, skills: Sequence[str], options: DownloadOptions, open_archive: OpenArchive) -> Tree:
    """Fetch what is at `url`, and return it as a tree; of an index, the `skills` that were named, or all.

    Raises SourceUnreachable, IntegrityFailed, SkillNotFound for a skill that an index does not have, and what
    `open_archive` raises. Nothing is left behind where it raises.
    """
    with contextlib.ExitStack() as fetched:
        directory = fetched.enter_context(scratch_directory("fetch"))
        try:
            found = asyncio.run(_within(_fetch(url, skills, directory, options, open_archive), options))
        except asyncio.TimeoutError as error:
            seconds = options.limits.total_seconds
            raise SourceUnreachable(
                shown(url),
                f"took too long: more than {seconds:g} seconds in all",
                hint="name fewer skills with --skill",
            ) from error
        return WebTree(found, fetched.pop_all().close)


async def _within(
    fetching: Coroutine[object, object, Mapping[str, Fetched]], options: DownloadOptions
) -> Mapping[str, Fetched]:
    return await asyncio.wait_for(fetching, options.limits.total_seconds)


async def _fetch(
    url: str, skills: Sequence[str], directory: str, options: DownloadOptions, open_archive: OpenArchive
) -> Mapping[str, Fetched]:
    """Return what is fetched by name; one archive or SKILL.md by itself has the name `""`."""
    async with downloading(url, directory, options) as downloader:
        answer: Download | SourceUnreachable
        try:
            answer = await downloader.get(url)
        except NotThere as error:
            answer = error
        if isinstance(answer, Download):
            if answer.is_archive:
                return {"": _opened(answer, partial(open_archive, answer.path, shown(url)))}
            content = answer.content()
            if is_skill(content):
                return {"": _opened(answer, _as_directory(answer))}
            if is_index(content):
                index = parse_index(content, answer.url)
                return await _artifacts(index, skills, downloader, open_archive)
        index = await _find_index(url, skills, answer, downloader)
        return await _artifacts(index, skills, downloader, open_archive)


def _opened(download: Download, opening: Callable[[], Tree]) -> Fetched:
    """Look at an artifact. A hostile one is refused now, and not when half of an index is installed."""
    tree = opening()
    try:
        return Fetched(tree.entries, opening, download.digest)
    finally:
        tree.close()


def _as_directory(download: Download) -> Callable[[], Tree]:
    """Move a text that was fetched into a directory, as its SKILL.md."""
    directory = f"{download.path}.skill"
    os.mkdir(directory)
    os.rename(download.path, os.path.join(directory, SKILL_FILE))
    return partial(DirectoryTree, directory)


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
            # All that a host has is not what somebody means who typed a path on it.
            top = shown(place).removesuffix(WELL_KNOWN_PATH)
            raise SourceUnreachable(
                shown(url), "has no index of skills of its own", hint=f"its host has one, which is {top}"
            )
        return parse_index(content, found.url)
    # Who is not let in is told that, and not that there is nothing.
    let_in = [refusal for refusal in refusals if refusal.status not in (404, 405, 410)]
    if let_in:
        raise let_in[0]
    what = "is not there" if isinstance(answer, NotThere) else "is neither an archive nor a SKILL.md"
    raise SourceUnreachable(
        shown(url), f"{what}, and its site has no index of skills", hint=f"looked at {', '.join(map(shown, places))}"
    )


async def _artifacts(
    index: WellKnownIndex, skills: Sequence[str], downloader: Downloader, open_archive: OpenArchive
) -> Mapping[str, Fetched]:
    for skipped in index.skipped:
        log.warning("%s: %s", shown(index.url), skipped)
    if not index.entries:
        raise SourceUnreachable(shown(index.url), "lists no skill", hint="look whether the address is another")
    wanted = iter(_wanted(index, skills))
    artifacts: dict[str, Fetched] = {}

    async def fetch_some(some: Iterator[SiteSkill]) -> None:
        for entry in some:
            artifacts[entry.name] = await _artifact(entry, index, downloader, open_archive)

    tasks = [asyncio.create_task(fetch_some(wanted)) for _ in range(_AT_ONCE)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return artifacts


def _wanted(index: WellKnownIndex, skills: Sequence[str]) -> Sequence[SiteSkill]:
    """Return the entries to fetch. Raises SkillNotFound for a name that the index has not."""
    if not skills or ALL_SKILLS in skills:
        return index.entries
    by_name = {entry.name: entry for entry in index.entries}
    for name in skills:
        if name.lower() not in by_name:
            raise not_found(name, by_name, search_tool="", reason=f"{shown(index.url)} does not list it")
    return [by_name[name] for name in dict.fromkeys(name.lower() for name in skills)]


async def _artifact(
    entry: SiteSkill, index: WellKnownIndex, downloader: Downloader, open_archive: OpenArchive
) -> Fetched:
    download = await downloader.get(entry.url, came_from=index.url)
    check_digest(entry, shown(index.url), download.digest)
    is_text = entry.kind is ArtifactKind.SKILL_MD
    return _opened(
        download, _as_directory(download) if is_text else partial(open_archive, download.path, shown(entry.url))
    )
