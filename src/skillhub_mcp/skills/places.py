"""The places that may hold skills: those that can be roots, and where other clients keep theirs. Pure."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp._util.wording import plural
from skillhub_mcp.environment import shell_path
from skillhub_mcp.project import Project
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.skills.model import Problem
from skillhub_mcp.skills.plugins import Plugin
from skillhub_mcp.skills.roots import AGENTS_SKILLS, SkillRoot, Source, in_each_directory, located, project_places


@dataclass(frozen=True, slots=True)
class ClientSkills:
    """Where a client keeps skills, below the home directory (or `moved_by`, a variable) and in projects."""

    client: str
    user: str = ""
    project: str = ""
    moved_by: str = ""
    word: str = ""


# Those whose skills are in `skills` below one directory, in the home and in projects.
_SAME_DIRECTORY = {
    "Cursor": ".cursor", "Gemini CLI": ".gemini", "Qwen Code": ".qwen", "Cline": ".cline", "Roo Code": ".roo",
    "Kilo Code": ".kilo", "Kilo Code, before": ".kilocode", "Kiro": ".kiro", "Continue": ".continue", "Junie": ".junie",
    "Factory Droid": ".factory", "AdaL": ".adal", "Augment": ".augment", "CodeBuddy": ".codebuddy",
    "Command Code": ".commandcode", "iFlow": ".iflow", "Kode": ".kode", "Mistral Vibe": ".vibe", "Mux": ".mux",
    "Neovate": ".neovate", "OpenHands": ".openhands", "Pochi": ".pochi", "Qoder": ".qoder", "Trae": ".trae",
    "Zencoder": ".zencoder",
}  # fmt: skip
CLIENT_SKILLS = (
    ClientSkills("Claude Code", ".claude/skills", ".claude/skills", "CLAUDE_CONFIG_DIR", word="claude"),
    ClientSkills("Codex", ".codex/skills", ".codex/skills", "CODEX_HOME"),
    ClientSkills("GitHub Copilot", ".copilot/skills", ".github/skills", "COPILOT_HOME"),
    ClientSkills("Antigravity", ".gemini/config/skills"),
    ClientSkills("Antigravity, before", ".gemini/antigravity/skills"),
    ClientSkills("Windsurf", ".codeium/windsurf/skills", ".windsurf/skills"),
    ClientSkills("Cline's rules", project=".clinerules/skills"),
    ClientSkills("OpenCode", ".config/opencode/skills", ".opencode/skills", "XDG_CONFIG_HOME"),
    ClientSkills("Goose", ".config/goose/skills", ".goose/skills", "XDG_CONFIG_HOME"),
    ClientSkills("Crush", ".config/crush/skills", ".crush/skills", "XDG_CONFIG_HOME"),
    ClientSkills("Crush's other directory", moved_by="CRUSH_SKILLS_DIR"),
    ClientSkills("Amp", ".config/agents/skills", moved_by="XDG_CONFIG_HOME"),
    ClientSkills("Hermes", ".hermes/skills"),
    ClientSkills("OpenClaw", ".openclaw/skills"),
    ClientSkills("Pi", ".pi/agent/skills", ".pi/skills"),
    ClientSkills("Trae CN", ".trae-cn/skills"),
    *(ClientSkills(client, f"{place}/skills", f"{place}/skills") for client, place in _SAME_DIRECTORY.items()),
)


# Where a project keeps skills, with `/`: for every client, and for each of them.
PROJECT_PLACES = (AGENTS_SKILLS.replace(os.sep, "/"), *(client.project for client in CLIENT_SKILLS if client.project))


@dataclass(frozen=True, slots=True)
class SkillPlace:
    """A directory that may hold skills, its owner, its `word` in SKILLHUB_ROOTS, and why its client has it `off`."""

    path: str
    source: Source
    word: str = ""
    owner: str = ""
    off: str = ""


@dataclass(frozen=True, slots=True)
class RootsChoice:
    """The words of SKILLHUB_ROOTS and the directories of SKILLS_DIR, and whether each was set."""

    words: tuple[str, ...]
    dirs: tuple[str, ...]
    words_given: bool = False
    dirs_given: bool = False


@dataclass(frozen=True, slots=True)
class PlaceReason:
    """Why a place is searched or not, and the `command` or `setting` that changes it, if any."""

    why: str
    command: str = ""
    setting: str = ""

    def advice(self, skills: int) -> str:
        """Return how to search a place, as a part of a sentence about so many skills."""
        them = "it" if skills == 1 else "them"
        if self.command:
            return f"`{self.command}` serves {them}"
        return f"set {self.setting} to serve {them}" if self.setting else f"switch {them} on there to serve {them}"


def known_places(
    project: Project,
    *,
    home: str,
    hub: str,
    builtin: str,
    environment: Mapping[str, str],
    recorded: Sequence[str] = (),
    recorded_in_project: Sequence[str] = (),
    plugins: Sequence[Plugin] = (),
) -> tuple[SkillPlace, ...]:
    """Return every place once: the project's, the user's, the hub's, the recorded, the clients' and the examples."""
    in_project = [*project_places(project, home), *recorded_in_project]
    found = [
        *(SkillPlace(path, Source.PROJECT, "project") for path in in_project),
        *(SkillPlace(os.path.join(home, name, "skills"), Source.USER, "user") for name in (".agents", ".agent")),
        *(SkillPlace(path, Source.HUB, "hub") for path in (hub, *recorded)),
        *(place for one in CLIENT_SKILLS for place in _in_project(one, project, home)),
        *(place for one in CLIENT_SKILLS for place in _in_home(one, home, environment)),
        *(
            SkillPlace(path, Source.HUB, "" if plugin.unknown else "plugins", plugin.client, plugin.off)
            for plugin in plugins
            for path in plugin.directories
        ),
        SkillPlace(builtin, Source.BUILTIN, "builtin"),
    ]
    return tuple({place.path: place for place in reversed(found)}.values())[::-1]


def _in_project(client: ClientSkills, project: Project, home: str) -> Iterator[SkillPlace]:
    if client.project:
        for path in in_each_directory(project, os.path.join(*client.project.split("/")), home):
            yield SkillPlace(path, Source.PROJECT, client.word, client.client)


def _in_home(client: ClientSkills, home: str, environment: Mapping[str, str]) -> Iterator[SkillPlace]:
    first, *rest = client.user.split("/")
    moved = environment.get(client.moved_by, "").strip() if client.moved_by else ""
    if os.path.isabs(moved):
        yield SkillPlace(os.path.join(moved, *rest), Source.HUB, owner=client.client)
    elif client.user:
        yield SkillPlace(os.path.join(home, first, *rest), Source.HUB, client.word, client.client)


def why_not(place: SkillPlace, choice: RootsChoice, *, shown: str) -> PlaceReason:
    """Return why a place is not among the roots, and what adds it. `shown` is its path as typed in a shell."""
    if place.off:
        return PlaceReason(place.off, command="" if place.word else f"skillhub roots add {shown}")
    word = place.word or ("project" if place.source is Source.PROJECT else "hub")
    if choice.dirs_given and not choice.words_given:
        why = "SKILLS_DIR is set, and then nothing else is searched"
        by_word = place.word not in ("", "hub")
        setting = _with_word(choice.words, word) if by_word else _with_directory(choice.dirs, place.path)
        return PlaceReason(why, setting=setting)
    if choice.words_given and word not in choice.words:
        return PlaceReason(f"SKILLHUB_ROOTS does not name {word}", setting=_with_word(choice.words, word))
    if choice.dirs_given and place.source is not Source.PROJECT:
        return PlaceReason("SKILLS_DIR does not name it", setting=_with_directory(choice.dirs, place.path))
    if place.word in ("builtin", "plugins"):
        return PlaceReason("they have not been added", command=f"skillhub roots add {place.word}")
    option = "--project" if place.source is Source.PROJECT else ""
    why = f"the directory belongs to {place.owner}" if place.owner else "the directory has not been added"
    # The word also covers every other project.
    what = "claude" if place.word == "claude" else f"{option} {shown}".strip()
    return PlaceReason(why, command=f"skillhub roots add {what}")


def why_searched(root: SkillRoot, choice: RootsChoice, *, shown: str, recorded: Collection[str]) -> PlaceReason:
    """Return why a root is one, and what removes it. `recorded` are the words that were recorded."""
    if root.recorded:
        return PlaceReason("recorded", command=f"skillhub roots remove {shown}")
    word = word_of(root)
    if word in recorded and not (choice.words_given or choice.dirs_given):
        return PlaceReason("recorded", command=f"skillhub roots remove {word}")
    if root.source is Source.HUB and choice.dirs_given:
        return PlaceReason("SKILLS_DIR names it", setting="SKILLS_DIR")
    others = ",".join(one for one in choice.words if one != word)
    why = f"SKILLHUB_ROOTS names {word}" if choice.words_given else "by default"
    return PlaceReason(why, setting=f"SKILLHUB_ROOTS={others}" if others else "SKILLHUB_ROOTS")


def word_of(root: SkillRoot) -> str:
    """Return the word of SKILLHUB_ROOTS that has a root searched."""
    of_claude = root.source in (Source.PROJECT, Source.USER) and f"{os.sep}.claude{os.sep}" in root.path
    if root.plugin:
        return "plugins"
    return "claude" if of_claude and not root.recorded else root.source.value


def _with_word(words: Sequence[str], word: str) -> str:
    return f"SKILLHUB_ROOTS={','.join((*words, word))}"


def _with_directory(directories: Sequence[str], path: str) -> str:
    return f"SKILLS_DIR={os.pathsep.join((*directories, path))}"


MAX_DIRECTORIES = 500


@dataclass(frozen=True, slots=True)
class UnsearchedPlace:
    """A place that is not searched, the `directories` of its skills, and why it cannot be read (`problem`)."""

    place: SkillPlace
    shown: str
    directories: tuple[str, ...]
    at_least: bool
    reason: PlaceReason
    problem: str = ""

    @property
    def skills(self) -> int:
        """The number of its skills that no root has."""
        return len(self.directories)

    @property
    def count(self) -> str:
        """The number of skills in words."""
        return f"{'at least ' if self.at_least else ''}{plural(self.skills, 'skill')}"

    @property
    def where(self) -> str:
        """The skills and where they are, in words."""
        if self.place.source is Source.BUILTIN:
            return f"{self.skills:,} examples that come with SkillHub"
        return f"{self.count} in {self.shown}"

    def as_problem(self) -> Problem:
        """Return it as a problem for those who may know this machine's paths."""
        are = "is" if self.skills == 1 else "are"
        what = f"{are} not searched: {self.reason.why}"
        return Problem(self.where, what, self.reason.advice(self.skills), only_here=True)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The places, what chooses among them, and the directory that paths are shown from."""

    places: tuple[SkillPlace, ...]
    choice: RootsChoice
    cwd: str

    def shown(self, path: str) -> str:
        """Return a path as people type it in a shell."""
        return shell_path(path, cwd=self.cwd)

    def survey(self, roots: Sequence[SkillRoot]) -> tuple[dict[str, int], tuple[UnsearchedPlace, ...]]:
        """Return the number of skills by the path of each root, and the places that exist and are not among them."""
        searched = {root.real for root in map(located, roots)}
        others = [
            (place, root)
            for place in self.places
            if os.path.isdir(place.path) and (root := _as_root(place)).real not in searched
        ]
        walk = walk_roots((*roots, *(root for _, root in others)))
        found: dict[str, list[str]] = {root.path: [] for root in walk.roots}
        for one in walk.found:
            found[one.root].append(one.directory)
        problems = {problem.subject: problem.message for problem in walk.problems}
        unsearched = []
        for place, root in others:
            shown, is_cut = self.shown(place.path), root.path in walk.cut
            reason = why_not(place, self.choice, shown=shown)
            problem = "" if is_cut else problems.get(root.path, "")
            unsearched.append(UnsearchedPlace(place, shown, tuple(found[root.path]), is_cut, reason, problem))
        return {root.path: len(found[root.path]) for root in roots}, tuple(unsearched)


def _as_root(place: SkillPlace) -> SkillRoot:
    return located(SkillRoot(place.path, place.path, place.source, max_directories=MAX_DIRECTORIES, optional=True))
