"""Skills as MCP resources: the skills extension (SEP-2640), and their files as plain resources for every client.

FastMCP's own extension hashes every file of every skill for each page; this one answers from a cache.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import anyio.to_thread
import mcp_types
from fastmcp.resources.base import Resource, ResourceContent, ResourceResult
from fastmcp.resources.template import ResourceTemplate
from fastmcp.server.extensions import MethodBinding, ServerExtension
from fastmcp.server.providers.base import Provider
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.versions import VersionSpec
from mcp.server.context import ServerRequestContext
from pydantic import AnyUrl, PrivateAttr

from skillhub_mcp.errors import InvalidArgument, SkillHubError
from skillhub_mcp.publishing import publisher as publishing
from skillhub_mcp.publishing.publisher import PublishedSkill, Publisher
from skillhub_mcp.publishing.uris import TEMPLATE, build_uri, parse_uri
from skillhub_mcp.sanitize import all_for_model
from skillhub_mcp.server.middleware.sessions import Sessions

log = logging.getLogger(__name__)

ADAPTED_META_KEY = "io.skillhub/adapted"

_Context = ServerRequestContext[Any, Any]


class UriParams(mcp_types.PaginatedRequestParams):
    """The parameters of `skills/get` and `resources/directory/read`."""

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
            MethodBinding("resources/directory/read", UriParams, self._children),
        )

    async def _list(self, _: _Context, params: mcp_types.PaginatedRequestParams | None) -> dict[str, Any]:
        page = await anyio.to_thread.run_sync(lambda: self._publisher.page(None if params is None else params.cursor))
        more = {} if page.cursor is None else {"nextCursor": page.cursor}
        return {"resultType": "complete", "skills": [_skill(skill) for skill in page.skills], **more, **self._caching}

    async def _get(self, _: _Context, params: UriParams) -> dict[str, Any]:
        skill = await anyio.to_thread.run_sync(lambda: self._publisher.skill(params.uri))
        return {"resultType": "complete", "skill": _skill(skill), **self._caching}

    async def _children(self, _: _Context, params: UriParams) -> dict[str, Any]:
        if params.cursor is not None:
            raise InvalidArgument("cursor", "comes from no earlier page: a directory is returned whole")
        children = await anyio.to_thread.run_sync(lambda: self._publisher.children(params.uri))
        return {"resultType": "complete", "resources": [_resource(child) for child in children], **self._caching}


def _skill(published: PublishedSkill) -> dict[str, Any]:
    entry = published.entry
    files = [{"uri": published.file_uri(file.path), "digest": file.digest, "size": file.size} for file in entry.files]
    meta = {"_meta": {ADAPTED_META_KEY: all_for_model(entry.changes)}} if entry.changes else {}
    return {"uri": published.uri, "frontmatter": entry.frontmatter, "resources": files, **meta}


def _resource(resource: publishing.Resource) -> dict[str, Any]:
    fields = {"uri": resource.uri, "name": resource.name, "mimeType": resource.media_type}
    optional = {"description": resource.description, "size": resource.size}
    return fields | {key: value for key, value in optional.items() if value is not None}


_TEMPLATE_DESCRIPTION = "A file of a skill, at <source>/<directories>/<name>/<file>; skills/list has every URI"


class SkillResourceProvider(Provider):
    """Every file of every published skill, and a list of the SKILL.md files."""

    def __init__(self, publisher: Publisher, sessions: Sessions) -> None:
        super().__init__()
        self._publisher = publisher
        self._sessions = sessions

    async def _list_resources(self) -> Sequence[Resource]:
        try:
            listed = await anyio.to_thread.run_sync(self._publisher.resources)
        except SkillHubError as error:
            # A list cannot report an error; reading a resource or calling a tool does.
            log.warning("No skill is offered as a resource: %s", error.message)
            return []
        return [_SkillFile.make(self, resource, resource.uri) for resource in listed]

    async def _get_resource(
        self,
        uri: str,
        version: VersionSpec | None = None,  # noqa: ARG002 - the provider's signature; files have one version
    ) -> Resource | None:
        segments = parse_uri(uri)
        if segments is None:
            return None
        # Only reading it shows whether the file exists, and has an error to report if it does not.
        return _SkillFile.make(self, publishing.Resource(build_uri(segments), segments[-1], ""), uri)

    async def _list_resource_templates(self) -> Sequence[ResourceTemplate]:
        return [_Template(uri_template=TEMPLATE, name="skill-file", description=_TEMPLATE_DESCRIPTION, parameters={})]

    async def _get_resource_template(
        self,
        uri: str,  # noqa: ARG002 - the provider's signature; every URI is served by `_get_resource`
        version: VersionSpec | None = None,  # noqa: ARG002 - as above
    ) -> ResourceTemplate | None:
        return None

    async def get_tasks(self) -> Sequence[FastMCPComponent]:
        """Return none, without reading every skill before the first client is answered."""
        return []

    def read(self, uri: str) -> ResourceResult:
        """Return the file at `uri`, its bytes unchanged. Raises what `Publisher.content` raises."""
        # Not in the session's ledger: a client may read it for something else than its model's context.
        file = self._publisher.content(uri, granted=self._sessions.current().granted)
        content = file.content.decode("utf-8") if file.is_text else file.content
        return ResourceResult([ResourceContent(content, mime_type=file.resource.media_type)])


class _SkillFile(Resource):
    _provider: SkillResourceProvider = PrivateAttr()
    _requested: str = PrivateAttr()

    @classmethod
    def make(cls, provider: SkillResourceProvider, resource: publishing.Resource, requested: str) -> _SkillFile:
        """Return a resource to be read at the `requested` URI, which an error names."""
        made = cls(
            uri=AnyUrl(resource.uri),
            name=resource.name,
            description=resource.description,
            mime_type=resource.media_type,
        )
        made._provider, made._requested = provider, requested
        return made

    async def read(self) -> ResourceResult:
        return await anyio.to_thread.run_sync(self._provider.read, self._requested)

    def to_mcp_resource(self, **overrides: Any) -> mcp_types.Resource:
        """Return the resource without the metadata that FastMCP would add to each of thousands."""
        return super().to_mcp_resource(**{"_meta": None, **overrides})


class _Template(ResourceTemplate):
    def to_mcp_template(self, **overrides: Any) -> mcp_types.ResourceTemplate:
        """Return the template without FastMCP's metadata, and without a media type: the files have many."""
        return super().to_mcp_template(**{"_meta": None, "mimeType": None, **overrides})
