"""MCP prompts: one for each skill that people can invoke, for `/name`, and one for the start of a session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp import FastMCP
from fastmcp.prompts.base import Prompt, PromptArgument, PromptResult
from fastmcp.server.completions import MAX_COMPLETION_VALUES, CompletionHandler, CompletionReference
from fastmcp.server.providers.base import Provider
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.versions import VersionSpec
from mcp_types import Prompt as WirePrompt
from pydantic import PrivateAttr

from skillhub_mcp.disclosure.skill_loaded import render_skill_loaded, substitute_arguments
from skillhub_mcp.errors import InvalidArgument, PolicyUnreadable, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.sanitize import for_model, path_for_model, shortened
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.skills.model import Skill, is_skill_file
from skillhub_mcp.skills.names import shown_name

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Catalogues

log = logging.getLogger(__name__)

# The prompt that takes the name of a skill.
BY_NAME = "skill"


def name_completion(hub: SkillHub) -> CompletionHandler:
    """Return the completion of the prompt `skill`: the names of the skills that people can invoke."""

    async def complete(
        reference: CompletionReference, argument: mcp_types.CompletionArgument, _: mcp_types.CompletionContext | None
    ) -> mcp_types.Completion | None:
        if getattr(reference, "name", "") != BY_NAME or argument.name != "name":
            return None
        try:
            skills = await asyncio.to_thread(hub.skills, agreed_only=True)
        except SkillHubError as error:
            # A completion cannot report an error; a call of a tool does.
            log.warning("Nothing can be completed: %s", error.message)
            return None
        typed = argument.value.strip().removeprefix("/")
        return completion(typed, (shown_name(skill.name) for skill in skills if skill.user_invocable))

    return complete


def completion(typed: str, candidates: Iterable[str]) -> mcp_types.Completion:
    """Return the candidates that contain `typed`, first those that start with it."""
    folded = typed.casefold()
    found = [candidate for candidate in set(candidates) if folded in candidate.casefold()]
    found.sort(key=lambda candidate: (not candidate.casefold().startswith(folded), candidate))
    shown = found[:MAX_COMPLETION_VALUES]
    return mcp_types.Completion(values=shown, total=len(found), has_more=len(shown) < len(found))


_SHOWN_DESCRIPTION = 200
_ARGUMENTS = "What to do with it"


class SkillPromptProvider(Provider):
    """The prompts of one hub, and one more, `skill`, that takes a name.

    Skills that await trust, and a skill that is itself named `skill`, are available through that one alone. With
    `with_paths` a client gets the directory of a skill's files.
    """

    def __init__(self, hub: SkillHub, sessions: Sessions, *, with_paths: bool, closing: str) -> None:
        super().__init__()
        self._hub = hub
        self._sessions = sessions
        self._with_paths = with_paths
        self._closing = closing

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

    def render(self, name: str, arguments: str) -> str:
        """Return a skill's text for the person who invokes it. Raises what `SkillHub.load_whole` raises."""
        session = self._sessions.current()
        first, body = self._hub.reader.load_whole(name, granted=session.granted)
        written, appended = substitute_arguments(body, arguments)
        files, _ = self._hub.reader.list_files(first.skill)
        loaded = render_skill_loaded(
            path_for_model(first.handle),
            written,
            files=[file.path for file in files if not is_skill_file(file.path)],
            directory=first.skill.directory if self._with_paths else "",
            closing=self._closing,
        )
        text = loaded + appended
        session.ledger.record_skill(first.skill, text)
        return text

    def _invocable(self) -> dict[str, Skill]:
        """Return the skills that people can invoke, by the names of their prompts, in the order of the names."""
        try:
            listed = self._hub.skills(agreed_only=True)
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
        ).bind(self, skill.name)

    def _by_name(self) -> Prompt:
        arguments = [
            PromptArgument(name="name", description="The skill's name", required=True),
            PromptArgument(name="arguments", description=_ARGUMENTS, required=False),
        ]
        prompt = _SkillPrompt(name=BY_NAME, title="/skill", description="Use a skill by its name", arguments=arguments)
        return prompt.bind(self, None)


class _SkillPrompt(Prompt):
    _provider: SkillPromptProvider = PrivateAttr()
    _skill: str | None = PrivateAttr()

    def bind(self, provider: SkillPromptProvider, skill: str | None) -> _SkillPrompt:
        self._provider, self._skill = provider, skill
        return self

    def to_mcp_prompt(self, **overrides: Any) -> WirePrompt:
        """Return the prompt without the metadata that FastMCP would add to each of thousands."""
        return super().to_mcp_prompt(**{"_meta": self.meta, **overrides})

    async def render(self, arguments: dict[str, Any] | None = None) -> PromptResult:
        given = arguments or {}
        name = str(given.get("name") or "").strip().removeprefix("/") if self._skill is None else self._skill
        if not name:
            raise InvalidArgument("name", "must be given", hint="type the name of a skill")
        text = await asyncio.to_thread(self._provider.render, name, str(given.get("arguments") or "").strip())
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
