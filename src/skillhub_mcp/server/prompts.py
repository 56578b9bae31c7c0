"""MCP prompts: one for each skill that people can invoke, for `/name`, and one for the start of a session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp import FastMCP
from fastmcp.prompts.base import Prompt, PromptArgument, PromptResult
from fastmcp.server.completions import CompletionHandler, CompletionReference
from fastmcp.server.providers.base import Provider
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.versions import VersionSpec
from mcp_types import Prompt as WirePrompt
from pydantic import PrivateAttr

from skillhub_mcp.errors import InvalidArgument, PolicyUnreadable, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.sanitize import for_model, shortened
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import shown_name

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Catalogues
    from skillhub_mcp.server.tools.run import SkillTool

log = logging.getLogger(__name__)

# The prompt that takes the name of a skill.
BY_NAME = "skill"


def name_completion(hub: SkillHub) -> CompletionHandler:
    """Return the completion of the prompt `skill`: the names of the skills that people can invoke."""

    async def complete(
        reference: CompletionReference, argument: mcp_types.CompletionArgument, _: mcp_types.CompletionContext | None
    ) -> list[str] | None:
        if getattr(reference, "name", "") != BY_NAME or argument.name != "name":
            return None
        try:
            skills = await asyncio.to_thread(hub.skills, agreed_only=True)
        except SkillHubError as error:
            # A completion cannot report an error; a call of a tool does.
            log.warning("Nothing can be completed: %s", error.message)
            return None
        typed = argument.value.strip().removeprefix("/")
        return matching(typed, (shown_name(skill.name) for skill in skills if skill.user_invocable))

    return complete


def matching(typed: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that contain `typed`, first those that start with it."""
    folded = typed.casefold()
    found = [candidate for candidate in set(candidates) if folded in candidate.casefold()]
    return sorted(found, key=lambda candidate: (not candidate.casefold().startswith(folded), candidate))


_SHOWN_DESCRIPTION = 200
_ARGUMENTS = "What to do with it"


class SkillPromptProvider(Provider):
    """The prompts of one hub, and one more, `skill`, that takes a name.

    Skills that await trust, and a skill that is itself named `skill`, are available through that one alone.
    """

    def __init__(self, tool: SkillTool) -> None:
        super().__init__()
        self._tool = tool

    async def _list_prompts(self) -> Sequence[Prompt]:
        skills = await asyncio.to_thread(self._invocable)
        return [self._by_name(), *(self._prompt(name, skill) for name, skill in skills.items() if name != BY_NAME)]

    async def _get_prompt(
        self,
        name: str,
        version: VersionSpec | None = None,  # noqa: ARG002 - the provider's signature; skills have one version
    ) -> Prompt | None:
        if name == BY_NAME:
            return self._by_name()
        skill = (await asyncio.to_thread(self._invocable)).get(name)
        return None if skill is None else self._prompt(name, skill)

    async def get_tasks(self) -> Sequence[FastMCPComponent]:
        """Return none, without reading every skill before the first client is answered."""
        return []

    def _invocable(self) -> dict[str, Skill]:
        """Return the skills that people can invoke, by the names of their prompts, in the order of the names."""
        try:
            listed = self._tool.hub.skills(agreed_only=True)
        except PolicyUnreadable as error:
            # A list cannot report an error; a call of a prompt or a tool does.
            log.warning("No skill is offered as a prompt: %s", error.message)
            return {}
        skills = [skill for skill in listed if skill.user_invocable and skill.alias]
        # Of two skills with one alias, the one that has it as its name wins.
        order = sorted(skills, key=lambda skill: skill.name == skill.alias)
        by_alias = {skill.alias: skill for skill in order}
        return dict(sorted(by_alias.items()))

    def _prompt(self, name: str, skill: Skill) -> Prompt:
        hint = shortened(for_model(skill.argument_hint or ""), _SHOWN_DESCRIPTION) or _ARGUMENTS
        return _SkillPrompt(
            name=name,
            title=f"/{shown_name(skill.name)}",
            description=shortened(for_model(skill.description), _SHOWN_DESCRIPTION),
            arguments=[PromptArgument(name="arguments", description=hint, required=False)],
        ).bind(self._tool, skill.name)

    def _by_name(self) -> Prompt:
        arguments = [
            PromptArgument(name="name", description="The skill's name", required=True),
            PromptArgument(name="arguments", description=_ARGUMENTS, required=False),
        ]
        prompt = _SkillPrompt(name=BY_NAME, title="/skill", description="Use a skill by its name", arguments=arguments)
        return prompt.bind(self._tool, None)


class _SkillPrompt(Prompt):
    _tool: SkillTool = PrivateAttr()
    _skill: str | None = PrivateAttr()

    def bind(self, tool: SkillTool, skill: str | None) -> _SkillPrompt:
        self._tool, self._skill = tool, skill
        return self

    def to_mcp_prompt(self, **overrides: Any) -> WirePrompt:
        """Return the prompt without the metadata that FastMCP would add to each of thousands."""
        return super().to_mcp_prompt(**{"_meta": self.meta, **overrides})

    async def render(self, arguments: dict[str, Any] | None = None) -> PromptResult:
        given = arguments or {}
        name = str(given.get("name") or "").strip().removeprefix("/") if self._skill is None else self._skill
        if not name:
            raise InvalidArgument("name", "must be given", hint="type the name of a skill")
        text = await asyncio.to_thread(self._tool.text_for_person, name, str(given.get("arguments") or "").strip())
        return PromptResult(text, description=self.description)


_NAME = "session_context"
_NOTHING = "There is no AGENTS.md and no skill for this directory."


def add_session_prompt(
    server: FastMCP,
    sessions: Sessions,
    catalogues: Catalogues | None,
    agents_text: Callable[[], str] | None,
    *,
    with_paths: bool,
) -> None:
    """Register the prompt, made of what the server's sets of tools have."""

    @server.prompt(name=_NAME, title="Begin a session", description="The project's AGENTS.md and its skills")
    def session_context() -> PromptResult:
        parts = []
        if agents_text is not None:
            parts.append(agents_text())
        if catalogues is not None:
            parts.append(catalogues.initial(with_paths=with_paths).text)
            sessions.current().ledger.record("catalogue", "catalogue", catalogues.listing().cwd, parts[-1])
        return PromptResult("\n\n".join(part for part in parts if part) or _NOTHING)
