"""What a program of one's own asks most: seed 003's registry, the catalogue, and mentions, as plain functions."""

from __future__ import annotations

import os
from collections.abc import Sequence

from skillhub_mcp.bootstrap import make_hub, make_registry, project_of, registry_admission
from skillhub_mcp.disclosure.available_skills import render_available_skills
from skillhub_mcp.disclosure.catalogue import FORMATS, Budget, Rendered, fit
from skillhub_mcp.disclosure.mentions import Resolution
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.registry import AnyRoot, Registry
from skillhub_mcp.skills.registry_index import RegistryIndex


def build_index(
    roots: Sequence[AnyRoot] | None = None, *, lenient: bool = False, cwd: str | None = None
) -> RegistryIndex:
    """Read the frontmatter of every skill below `roots` and return `{skills, report}` (seed 003 §2.3).

    A root is a path, a `SkillRoot`, or a map of `path`, `source` and `priority`; without any they are those that the
    environment chooses for `cwd`, as for the hub itself. A skill that breaks a rule is left out and reported; with
    `lenient`, one without a description is taken too. Raises InvalidArgument for a root that is none, and
    InvalidSetting.
    """
    settings, _ = read_settings(os.environ, {} if cwd is None else {"SKILLHUB_CWD": cwd})
    if roots is None:
        return make_registry(settings, lenient=lenient).build_index()
    return Registry(roots, admission=registry_admission(settings, lenient=lenient)).build_index()


def refresh_index(index: RegistryIndex, changes: Sequence[str] | None = None) -> RegistryIndex:
    """Return what `index` has become: only what is new or other is read (seed 003 §2.3).

    With `changes`, paths, nothing else is looked at. `index` itself stays as it is. Raises InvalidArgument for an
    index that did not come from `build_index`, a `Registry` or this function.
    """
    if index.refresh is None:
        raise InvalidArgument("index", "did not come from build_index")
    return index.refresh(changes)


def available_skills(index: RegistryIndex) -> str:
    """Return the list that a model is shown: name, source and description of each skill that is for models (§7)."""
    return render_available_skills(
        (entry.name, entry.source.value, entry.description)
        for entry in index.skills
        if not entry.controls.disable_model_invocation
    )


def catalogue(format: str = "specification", *, budget: Budget | None = None, cwd: str | None = None) -> Rendered:  # noqa: A002 - the command line's word
    """Return what a model is told of all the skills that the environment chooses for `cwd`, within `budget`.

    Without a budget it is the one that the settings give. Raises InvalidArgument for a format that is none,
    InvalidSetting and PolicyUnreadable.
    """
    if format not in FORMATS:
        raise InvalidArgument("format", f"{format!r} is not one of {', '.join(FORMATS)}")
    settings, _ = read_settings(os.environ, {} if cwd is None else {"SKILLHUB_CWD": cwd})
    hub = make_hub(settings, background=False)
    try:
        entries = hub.catalogue()
    finally:
        hub.close()
    usual = Budget(
        max_entries=settings.disclosure.catalogue_max_entries, max_bytes=settings.disclosure.catalogue_max_bytes
    )
    return fit(entries, budget or usual, FORMATS[format])


def resolve(text: str, *, cwd: str | None = None) -> Resolution:
    """Return the skills that `text` mentions as `$name` or by a path (seed 000, goal 4).

    Raises InvalidSetting and PolicyUnreadable.
    """
    settings, _ = read_settings(os.environ, {} if cwd is None else {"SKILLHUB_CWD": cwd})
    hub = make_hub(settings, background=False)
    try:
        return hub.resolve(text, cwd=project_of(settings).cwd)
    finally:
        hub.close()
