"""A site as a tree: an archive, a SKILL.md, or the skills of its index, whatever it answers."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.archives import ArchiveTree, is_archive
from skillhub_mcp.library.sources.directory_tree import DirectoryTree
from skillhub_mcp.library.sources.download import Download, Downloader, NotThere, downloading, shown
from skillhub_mcp.library.sources.opening import OpenOptions
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


def open_web(url: str, skills: Sequence[str], options: OpenOptions) -> Tree:
    """Return what is at `url`: one artifact, or of an index the `skills` that were named, or all, below their names.

    Raises what `open_source` raises.
    """
    with ExitStack() as fetched:
        directory = fetched.enter_context(scratch_directory("fetch"))
        with downloading(url, directory, options) as downloader:
            tree, digests = _fetch(url, skills, directory, downloader)
        tree.digests = digests
        # What was fetched is removed after the tree is closed.
        fetched.push(tree.until_closed)
        tree.until_closed = fetched.pop_all()
        return tree


def _fetch(url: str, skills: Sequence[str], directory: str, downloader: Downloader) -> tuple[Tree, Mapping[str, str]]:
    """Return what is fetched, and the digest of each artifact by its path; of one by itself that is `""`."""
    answer: Download | NotThere
    try:
        answer = downloader.get(url)
    except NotThere as error:
        answer = error
    place = os.path.join(directory, "skills")
    index = None
    if isinstance(answer, Download):
        if is_archive(answer.path):
            return ArchiveTree(answer.path, shown(url)), {"": answer.digest}
        content = answer.content()
        if _is_skill(content):
            os.mkdir(place)
            os.rename(answer.path, os.path.join(place, SKILL_FILE))
            return DirectoryTree(place), {"": answer.digest}
        if is_index(content):
            index = parse_index(content, answer.url)
    index = index or _find_index(url, skills, answer, downloader)
    os.mkdir(place)
    for skipped in index.skipped:
        log.warning("%s: %s", shown(index.url), skipped)
    if not index.entries:
        raise SourceUnreachable(shown(index.url), "lists no skill", hint="check the address")
    wanted = _wanted(index, skills)
    digests = {entry.name: _artifact(entry, index.url, downloader, place) for entry in wanted}
    return DirectoryTree(place), digests


def _is_skill(content: bytes) -> bool:
    """Whether a text is a SKILL.md: it begins with a frontmatter that has a name and a description."""
    values = parse(content).values
    return values is not None and all(isinstance(values.get(key), str) for key in ("name", "description"))


def _find_index(url: str, skills: Sequence[str], answer: Download | NotThere, downloader: Downloader) -> WellKnownIndex:
    refusals = [answer] if isinstance(answer, NotThere) else []
    places = index_urls(url)
    for place in places:
        try:
            found = downloader.get(place)
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
    # A denied token is reported as that.
    denied = [refusal for refusal in refusals if refusal.status not in (404, 405, 410)]
    if denied:
        raise denied[0]
    what = "does not exist" if isinstance(answer, NotThere) else "is neither an archive nor a SKILL.md"
    hint = f"looked at {', '.join(map(shown, places))}"
    raise SourceUnreachable(shown(url), f"{what}, and its site has no index of skills", hint=hint)


def _wanted(index: WellKnownIndex, skills: Sequence[str]) -> Sequence[SiteSkill]:
    if not skills or ALL_SKILLS in skills:
        return index.entries
    by_name = {entry.name: entry for entry in index.entries}
    for name in skills:
        if name.lower() not in by_name:
            raise not_found(name, by_name, search_tool="", reason=f"{shown(index.url)} does not list it")
    return [by_name[name] for name in dict.fromkeys(name.lower() for name in skills)]


def _artifact(entry: SiteSkill, index_url: str, downloader: Downloader, directory: str) -> str:
    download = downloader.get(entry.url, came_from=index_url)
    check_digest(entry, shown(index_url), download.digest)
    place = os.path.join(directory, entry.name)
    os.mkdir(place)
    if entry.type is ArtifactKind.SKILL_MD:
        os.rename(download.path, os.path.join(place, SKILL_FILE))
    else:
        with closing(ArchiveTree(download.path, shown(entry.url))) as tree:
            for note in unpack_skill(tree, "", place, name=shown(entry.url)).notes:
                log.warning("%s: %s", entry.name, note)
    return download.digest
