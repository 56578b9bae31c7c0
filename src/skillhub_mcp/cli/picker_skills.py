"""The skills of the picker: read, searched, previewed and switched through a hub of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.chosen_roots import choices_path, project_of
from skillhub_mcp.cli.commands.choices import namesakes, switched_by_path
from skillhub_mcp.cli.picker_rows import PickerRow, SearchedFor, picker_rows, searched_for
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import MAX_LIMIT
from skillhub_mcp.policy.files import change_choices
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.model import SKILL_FILE

_PREVIEW_CHARACTERS = 20_000


class HubSkills:
    """See `PickerSkills`. What is typed is sent to no provider and is in no usage log."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.hub = make_hub(_for_typing(settings), background=False)

    def read(self) -> Sequence[PickerRow]:
        """Return the skills."""
        return picker_rows(self.hub.listed())

    def reread(self) -> Sequence[PickerRow]:
        """Return the skills, of which files may have changed."""
        self.hub.refresh(waiting=True)
        return self.read()

    def search(self, typed: str) -> SearchedFor:
        """Return what the hub's search finds. Raises SkillHubError."""
        return searched_for(self.hub.search(typed, limit=MAX_LIMIT))

    def preview(self, row: PickerRow) -> str:
        """Return a skill's text, also of one that is off: looking at it does not load it."""
        head = f"{in_line(row.name)}\n{in_line(row.directory)}\n\n{in_line(row.description)}\n\n"
        try:
            skill = self.hub.find(row.directory)
            text = read_document(skill, self.hub.files_of(skill)).instructions
        except SkillHubError as error:
            text = error.message
        return head + text[:_PREVIEW_CHARACTERS]

    def file(self, row: PickerRow) -> str:
        """Return the path of its SKILL.md."""
        return os.path.join(row.directory, SKILL_FILE)

    def toggle(self, row: PickerRow, *, here_only: bool) -> Sequence[PickerRow]:
        """Switch a skill off or on, perhaps in this project only, and return all. Raises SkillHubError."""
        skill = self.hub.find(row.directory)
        others = namesakes(self.hub, skill)
        project = project_of(self._settings).root if here_only else None
        change_choices(
            choices_path(),
            lambda choices: switched_by_path(choices, skill, others, on=row.state != "on", project=project),
        )
        return self.read()


def _for_typing(settings: Settings) -> Settings:
    """Return the settings with which each key may search: no provider and no model is asked, and nothing is logged."""
    search = settings.search.model_copy(update={"rerank": "off"})
    if settings.embedding.provider in ("onnx", "openai", "gemini"):
        search = search.model_copy(update={"mode": "fts"})
    observability = settings.observability.model_copy(update={"usage_log": ""})
    return settings.model_copy(update={"search": search, "observability": observability})
