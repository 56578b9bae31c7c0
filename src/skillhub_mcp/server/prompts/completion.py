"""Completion of arguments: the names of skills and the files of one, from the current skills."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import anyio.to_thread
import mcp_types
from fastmcp.server.completions import MAX_COMPLETION_VALUES, CompletionReference

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.publishing.uris import SCHEME, TEMPLATE
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import shown_name

log = logging.getLogger(__name__)

# The prompt that takes the name of a skill.
BY_NAME = "skill"


class ArgumentCompletion:
    """The completion of one server: for its template of resources, and for the prompt `skill`, if it `has_prompts`."""

    def __init__(self, hub: SkillHub, publisher: Publisher, *, has_prompts: bool) -> None:
        self._hub = hub
        self._publisher = publisher
        self._has_prompts = has_prompts

    async def complete(
        self,
        reference: CompletionReference,
        argument: mcp_types.CompletionArgument,
        _: mcp_types.CompletionContext | None,
    ) -> mcp_types.Completion | None:
        """Return completions of `argument`, the best first; None for an argument that names no skill."""
        complete: Callable[[str], mcp_types.Completion]
        if isinstance(reference, mcp_types.PromptReference):
            wanted = self._has_prompts and (reference.name, argument.name) == (BY_NAME, "name")
            complete = self._name
        else:
            wanted, complete = (reference.uri, argument.name) == (TEMPLATE, "path"), self._path
        if not wanted:
            return None
        try:
            return await anyio.to_thread.run_sync(complete, argument.value, abandon_on_cancel=True)
        except SkillHubError as error:
            # A completion cannot report an error; a call of a tool does.
            log.warning("Nothing can be completed: %s", error.message)
            return None

    def _name(self, typed: str) -> mcp_types.Completion:
        skills = self._hub.skills(agreed_only=True)
        return completion(
            typed.strip().removeprefix("/"), (shown_name(skill.name) for skill in skills if skill.user_invocable)
        )

    def _path(self, typed: str) -> mcp_types.Completion:
        return complete_path(typed.removeprefix(SCHEME), self._publisher.uri_paths(), self._files)

    def _files(self, place: str) -> Iterable[str]:
        published = self._publisher.skill(f"{SCHEME}{place}/{SKILL_FILE}")
        return [published.file_uri(file.path).removeprefix(SCHEME) for file in published.entry.files]


def complete_path(typed: str, places: Iterable[str], files: Callable[[str], Iterable[str]]) -> mcp_types.Completion:
    """Return the path of the SKILL.md at each of `places` that matches. If `typed` lies below one of them, return what
    `files` returns for it that matches.
    """
    known = list(places)
    inside = next((place for place in known if typed.startswith(f"{place}/")), None)
    if inside is not None:
        return completion(typed, files(inside))
    return completion(typed, (f"{place}/{SKILL_FILE}" for place in known))


def completion(typed: str, candidates: Iterable[str]) -> mcp_types.Completion:
    """Return the candidates that contain `typed`: first those that start with it, then those with a word that does."""
    folded = typed.casefold()

    def rank_of(candidate: str) -> int:
        at = candidate.casefold().find(folded)
        if at <= 0:
            return at
        return 2 if candidate[at - 1].isalnum() else 1

    found = sorted((rank, candidate) for candidate in set(candidates) if (rank := rank_of(candidate)) >= 0)
    shown = [candidate for _, candidate in found[:MAX_COMPLETION_VALUES]]
    return mcp_types.Completion(values=shown, total=len(found), has_more=len(shown) < len(found))
