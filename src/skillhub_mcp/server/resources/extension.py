"""The skills extension: the three methods of SEP-2640, for hosts that read skills natively.

FastMCP's own extension hashes every file of every skill for each page; this one answers from a cache.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, TypeVar

import mcp_types
from fastmcp.server.extensions import MethodBinding, ServerExtension
from mcp.server.context import ServerRequestContext

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.harmless import all_for_model
from skillhub_mcp.nul import refuse_nul
from skillhub_mcp.publishing.publisher import PublishedSkill, Publisher, Resource
from skillhub_mcp.server.error_responses import protocol_error, run_in_thread

log = logging.getLogger(__name__)

T = TypeVar("T")

ADAPTED_META_KEY = "io.skillhub/adapted"

_Context = ServerRequestContext[Any, Any]


class UriParams(mcp_types.RequestParams):
    """The parameters of `skills/get`."""

    uri: str


class DirectoryParams(mcp_types.PaginatedRequestParams):
    """The parameters of `resources/directory/read`."""

    uri: str


class SkillsExtension(ServerExtension):
    """Serves `skills/list`, `skills/get` and `resources/directory/read`.

    Which skills are published depends on the caller, so caches must not share answers between clients.
    """

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, publisher: Publisher, *, ttl_seconds: int) -> None:
        self._publisher = publisher
        self._caching = {"ttlMs": ttl_seconds * 1_000, "cacheScope": "private"}

    def settings(self) -> dict[str, Any]:
        return {"directoryRead": True}

    def methods(self) -> Sequence[MethodBinding]:
        return (
            MethodBinding("skills/list", mcp_types.PaginatedRequestParams, self._list),
            MethodBinding("skills/get", UriParams, self._get),
            MethodBinding("resources/directory/read", DirectoryParams, self._children),
        )

    async def _list(self, _: _Context, params: mcp_types.PaginatedRequestParams | None) -> dict[str, Any]:
        page = await run_in_thread(lambda: self._publisher.page(None if params is None else params.cursor))
        more = {} if page.cursor is None else {"nextCursor": page.cursor}
        return {"resultType": "complete", "skills": [_skill(skill) for skill in page.skills], **more, **self._caching}

    async def _get(self, _: _Context, params: UriParams) -> dict[str, Any]:
        skill = await run_in_thread(lambda: self._publisher.skill(_checked(params.uri)))
        return {"resultType": "complete", "skill": _skill(skill), **self._caching}

    async def _children(self, _: _Context, params: DirectoryParams) -> dict[str, Any]:
        if params.cursor is not None:
            raise protocol_error(InvalidArgument("cursor", "comes from no earlier page: a directory is returned whole"))
        children = await run_in_thread(lambda: self._publisher.children(_checked(params.uri)))
        return {"resultType": "complete", "resources": [_resource(child) for child in children], **self._caching}


def _checked(uri: str) -> str:
    refuse_nul(uri=uri)
    return uri


def _skill(published: PublishedSkill) -> dict[str, Any]:
    entry = published.entry
    files = [{"uri": published.file_uri(file.path), "digest": file.digest, "size": file.size} for file in entry.files]
    meta = {"_meta": {ADAPTED_META_KEY: all_for_model(entry.changes)}} if entry.changes else {}
    return {"uri": published.uri, "frontmatter": entry.frontmatter, "resources": files, **meta}


def _resource(resource: Resource) -> dict[str, Any]:
    fields = {"uri": resource.uri, "name": resource.name, "mimeType": resource.media_type}
    optional = {"description": resource.description, "size": resource.size}
    return fields | {key: value for key, value in optional.items() if value is not None}
