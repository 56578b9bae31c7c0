"""A source as a tree, of whichever kind it is: the one place that reaches out for what a person typed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.archives import ArchiveTree
from skillhub_mcp.library.sources.directory_tree import DirectoryTree
from skillhub_mcp.library.sources.git import GitOptions
from skillhub_mcp.library.sources.git_tree import open_git
from skillhub_mcp.library.sources.source import SkillSource, SourceKind
from skillhub_mcp.library.tree import BOUNDS, Bounds, Tree


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """How sources are opened: where paths start, and the limits.

    `insecure` allows http: to other machines. `tokens` are bearer tokens by `host` or `host:port`, sent to that host
    only, over https or to this machine.
    """

    working_directory: str
    insecure: bool = False
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    bounds: Bounds = BOUNDS
    git: GitOptions = field(default_factory=GitOptions)
    read_seconds: float = 30.0
    total_seconds: float = 600.0


def open_source(source: SkillSource, options: OpenOptions) -> Tree:
    """Return what `source` holds now; of a site's index only the skills that it names, or all.

    Raises SourceUnreachable, ArchiveRefused, IntegrityFailed, SkillNotFound, and CommandUnavailable without git.
    """
    if source.kind is SourceKind.GIT:
        return open_git(source, options.git)
    if source.kind is SourceKind.WEB:
        if source.lacks_secret:
            hint = "give the whole address again with `skillhub add`"
            raise SourceUnreachable(str(source), "had a secret in its address, which is not recorded", hint=hint)
        # Only sites cost the import of an HTTP client.
        from skillhub_mcp.library.sources.web_source import open_web

        return open_web(source.address, source.skills, options)
    path = os.path.join(options.working_directory, expand_home(source.location))
    # Whatever it is called: a directory may be named as an archive is, and an archive without its ending.
    if os.path.isfile(path) or (source.kind is SourceKind.ARCHIVE and not os.path.isdir(path)):
        return ArchiveTree(path, source.location, options.bounds)
    return DirectoryTree(path, options.bounds)


def absolute(source: SkillSource, options: OpenOptions) -> SkillSource:
    """Return a source on this machine with its whole path, and any other as it is."""
    if source.kind in (SourceKind.DIRECTORY, SourceKind.ARCHIVE):
        path = os.path.join(options.working_directory, expand_home(source.location))
        return replace(source, location=os.path.abspath(path))
    return source
