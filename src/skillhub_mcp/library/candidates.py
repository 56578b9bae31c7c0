"""The skills that a source holds: by our discovery's rules, then by manifests of plugins.

Hidden directories are not searched, except those in which clients keep the skills of a project.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.errors import AmbiguousSkill, ArchiveRefused, SkillNotFound
from skillhub_mcp.library.sources.source import ALL_SKILLS
from skillhub_mcp.library.tree import Tree, TreeEntryKind, path_key
from skillhub_mcp.library.unpack import ChosenFile, SkillFiles, digests_in
from skillhub_mcp.sanitize import shortened
from skillhub_mcp.skills.discovery import MAX_DEPTH, is_skipped_directory
from skillhub_mcp.skills.files.paths import MAX_PATH_BYTES
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, SKILL_FILE, is_skill_file
from skillhub_mcp.skills.names import fold_name, not_found
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.skills.places import PROJECT_PLACES

MARKETPLACE = ".claude-plugin/marketplace.json"
PLUGIN = ".claude-plugin/plugin.json"
_SHOWN_CHARACTERS = 200
_NO_SKILL = f"a skill is a directory with a {SKILL_FILE}: check the path and the ref"
_MOST_MANIFEST_BYTES = 1024 * 1024
_MOST_PLUGINS = 1_000
_FILES = frozenset({TreeEntryKind.FILE, TreeEntryKind.LINK})


@dataclass(frozen=True, slots=True)
class NotFollowed:
    """Something that a source names as skills and that is not followed; `reason` ends a sentence about `what`."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill of a source, with the paths of its `copies`; `problem` is why it cannot be installed."""

    path: str
    name: str
    files: tuple[ChosenFile, ...] = ()
    description: str = ""
    problem: str = ""
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidates:
    """The skills of a source in the order of their paths, and what else it names that is not followed."""

    skills: tuple[Candidate, ...]
    left_out: tuple[NotFollowed, ...] = ()


def candidates(tree: Tree, start: str = "", *, name: str) -> Candidates:
    """Return the skills at and below `start`; one at the top is called `name`. Raises SourceUnreachable."""
    return _Search(tree, start, name).candidates()


def chosen(found: Candidates, wanted: Sequence[str]) -> tuple[Candidate, ...]:
    """Return those wanted by name, directory or path, or all. Raises SkillNotFound and AmbiguousSkill."""
    if not found.skills:
        reported = "; ".join(f"{left.what} {left.reason}" for left in found.left_out[:3])
        raise SkillNotFound("", reason="the source has none", hint=reported or _NO_SKILL)
    if not wanted or ALL_SKILLS in wanted:
        return found.skills
    picked = {candidate.path: candidate for text in wanted for candidate in _fitting(found.skills, text)}
    return tuple(picked.values())


def _fitting(skills: Sequence[Candidate], wanted: str) -> Sequence[Candidate]:
    folded = fold_name(wanted)
    named = [candidate for candidate in skills if fold_name(candidate.name) == folded]
    if len(named) == 1:
        return named
    path = wanted.strip("/")
    by_path = [candidate for candidate in skills if path == candidate.path or path in candidate.copies]
    if by_path:
        return by_path
    fitting = named or [candidate for candidate in skills if fold_name(candidate.path.rpartition("/")[2]) == folded]
    if not fitting:
        raise not_found(wanted, (candidate.name for candidate in skills), search_tool="--list")
    if len(fitting) > 1:
        raise AmbiguousSkill(wanted, candidates=[candidate.path or "." for candidate in fitting])
    return fitting


class _Search:
    def __init__(self, tree: Tree, start: str, name: str) -> None:
        self._tree = tree
        self._start = start
        self._name = name
        self._entries = tree.entries
        self._by_path = {entry.path: entry for entry in self._entries}
        self._searched: set[str] = set()
        self._found: dict[str, None] = {}
        self._left_out: dict[NotFollowed, None] = {}
        # Every directory with a SKILL.md, so that what is below one follows it.
        self._skills = sorted(
            _prefix(path.rpartition("/")[0])
            for path, entry in self._by_path.items()
            if is_skill_file(path.rpartition("/")[2]) and entry.kind in _FILES
        )

    def candidates(self) -> Candidates:
        self._discover(self._start)
        self._follow_manifests()
        in_sight = set(self._found)
        for place in list(self._client_places()):
            self._discover(place)
        self._report_skipped()
        paths = sorted(self._found, key=path_key)
        found = self._without_copies(list(map(self._candidate, paths)))
        skills = tuple(self._without_hidden_namesakes(found, in_sight))
        # A manifest may list what the search leaves out.
        found_at = {one.path for one in skills}
        return Candidates(skills, tuple(one for one in self._left_out if one.what not in found_at))

    def _leave_out(self, what: str, reason: str) -> None:
        self._left_out[NotFollowed(what, reason)] = None

    def _skills_in(self, directory: str) -> Iterator[tuple[str, list[str]]]:
        """Yield each path with a SKILL.md, with a `/` at its end, and the names in it that lead from the directory."""
        prefix = _prefix(directory)
        for at in range(bisect_left(self._skills, prefix), len(self._skills)):
            path = self._skills[at]
            if not path.startswith(prefix):
                break
            yield path, path[len(prefix) :].split("/")[:-1]

    def _discover(self, start: str) -> None:
        # A manifest may name one directory many times.
        if start in self._searched:
            return
        self._searched.add(start)
        above: str | None = None
        for path, names in self._skills_in(start):
            if any(map(is_skipped_directory, names)):
                continue
            # A skill ends the descent.
            if above is not None and path.startswith(above):
                reason = f"is a skill below another skill: `--path {quote(path[:-1])}` adds it by itself"
                self._leave_out(path[:-1], reason)
                continue
            above = path
            if len(names) > MAX_DEPTH:
                reason = f"is a skill more than {MAX_DEPTH} levels below the top; name its directory as the source"
                self._leave_out(path[:-1], reason)
                continue
            self._found[path[:-1]] = None

    def _client_places(self) -> Iterator[str]:
        prefix = _prefix(self._start)
        for path, _ in self._skills_in(self._start):
            if self._is_in_skill(path):
                continue
            names = f"/{path.removeprefix(prefix)}"
            for place in PROJECT_PLACES:
                above, found, _ = names.partition(f"/{place}/")
                if found and not any(map(is_skipped_directory, above.split("/"))):
                    yield f"{prefix}{above[1:]}/{place}" if above else f"{prefix}{place}"

    def _report_skipped(self) -> None:
        prefix = _prefix(self._start)
        skipped: Counter[str] = Counter()
        for path, names in self._skills_in(self._start):
            at = next((number for number, name in enumerate(names) if is_skipped_directory(name)), None)
            if at is not None and not self._is_in_skill(path):
                skipped[prefix + "/".join(names[: at + 1])] += 1
        for directory, count in skipped.items():
            reason = f"holds {count:,} skill{'s' if count > 1 else ''} and is not searched; name it as the source"
            self._leave_out(directory, reason)
        for entry in self._entries:
            if entry.kind is TreeEntryKind.SUBMODULE and entry.path.startswith(prefix):
                reason = "is another repository (a submodule), which is not fetched: add that by itself"
                self._leave_out(entry.path, reason)

    def _is_in_skill(self, path: str) -> bool:
        """Whether a directory, with a `/` at its end, is a skill that was found, or is in one."""
        return any(path[:at] in self._found for at, letter in enumerate(path) if letter == "/") or "" in self._found

    def _follow_manifests(self) -> None:
        """Discover the skills that a marketplace and plugins name in their manifests."""
        plugins = [self._start]
        if (marketplace := self._manifest(self._start, MARKETPLACE)) is not None:
            plugins += self._plugins(marketplace)
        for place in list(dict.fromkeys(plugins))[:_MOST_PLUGINS]:
            if (plugin := self._manifest(place, PLUGIN)) is not None:
                self._discover_plugin(place, plugin)

    def _manifest(self, top: str, name: str) -> Mapping[str, object] | None:
        path = _prefix(top) + name
        entry = self._by_path.get(path)
        if entry is None or entry.kind is not TreeEntryKind.FILE:
            return None
        content = self._content(path, _MOST_MANIFEST_BYTES)
        try:
            values = read_json("" if content is None else content.decode("utf-8-sig", "replace"))
        except BadJson as error:
            self._leave_out(path, "is too large to be read" if content is None else f"cannot be read: {error}")
            return None
        if isinstance(values, dict):
            return values
        self._leave_out(path, "cannot be read: it is not an object")
        return None

    def _plugins(self, marketplace: Mapping[str, object]) -> Iterator[str]:
        """Discover the skills of each plugin of a marketplace, and yield its directory."""
        metadata, plugins = marketplace.get("metadata"), marketplace.get("plugins")
        below = metadata.get("pluginRoot") if isinstance(metadata, dict) else None
        top = self._place(self._start, below or ".", MARKETPLACE)
        if not isinstance(plugins, list):
            self._leave_out(MARKETPLACE, "cannot be read: it has no list of plugins")
        elif top is not None:
            for plugin in plugins:
                if not isinstance(plugin, dict):
                    self._leave_out(MARKETPLACE, "has a plugin that is not an object")
                elif (place := self._place(top, plugin.get("source", "."), plugin.get("name"))) is not None:
                    self._discover_plugin(place, plugin)
                    yield place

    def _discover_plugin(self, top: str, plugin: Mapping[str, object]) -> None:
        """Discover what a plugin names below `top`, one path or a list, and the directory that each plugin has."""
        named = plugin.get("skills") or []
        for path in (*(named if isinstance(named, list) else [named]), "skills"):
            if (place := self._place(top, path, plugin.get("name"))) is not None:
                self._discover(place)

    def _place(self, top: str, path: object, name: object) -> str | None:
        """Return the directory that the manifest of a plugin names; None for one that is not in the source."""
        place = inside(top, path) if isinstance(path, str) else None
        if place is None:
            reason = f"names {shortened(repr(path), _SHOWN_CHARACTERS)}, outside of the source"
            if not isinstance(path, str):
                reason = "is elsewhere; add that source by itself"
            self._leave_out(name if isinstance(name, str) else "a plugin without a name", reason)
        return place

    def _candidate(self, path: str) -> Candidate:
        directory = path.rpartition("/")[2] or self._name
        try:
            files = SkillFiles(self._entries, path, name=self._name).files
        except ArchiveRefused as error:
            return Candidate(path, directory, problem=error.message)
        document = next((file for file in files if is_skill_file(file.path)), None)
        content = None if document is None else self._content(document.source_path, MAX_SKILL_FILE_BYTES)
        if content is None:
            reason = "is a link that cannot be followed" if document is None else "is too large to be read"
            return Candidate(path, directory, files, problem=f"its {SKILL_FILE} {reason}")
        parsed = parse_skill(content, directory=path, directory_name=directory)
        if parsed.skill is None:
            reason = parsed.diagnostics[0].message if parsed.diagnostics else "cannot be read"
            return Candidate(path, directory, files, problem=f"its {SKILL_FILE} is no skill: {reason}")
        return Candidate(path, parsed.skill.name, files, parsed.skill.description)

    def _without_copies(self, found: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Return the first of the candidates that have one name and the same files, with the paths of the others."""
        count = Counter(fold_name(one.name) for one in found)
        kept: dict[object, Candidate] = {}
        for one in found:
            has_namesakes = count[fold_name(one.name)] > 1 and not one.problem
            files = tuple(digests_in(self._tree, one.files).items()) if has_namesakes else ()
            key = (fold_name(one.name), files) if files else one.path
            first = kept.get(key)
            kept[key] = one if first is None else replace(first, copies=(*first.copies, one.path))
        return tuple(kept.values())

    def _without_hidden_namesakes(self, found: Sequence[Candidate], in_sight: Collection[str]) -> Iterator[Candidate]:
        """Yield the candidates without those in a client's directory that have the name of one in sight."""
        paths = {fold_name(one.name): one.path for one in found if one.path in in_sight}
        for one in found:
            other = paths.get(fold_name(one.name), one.path)
            if one.path in in_sight or other == one.path:
                yield one
            else:
                self._leave_out(one.path, f"has the name of {other or '.'}, with other files; name it as the source")

    def _content(self, path: str, most: int) -> bytes | None:
        read = bytearray()
        for piece in self._tree.read(path):
            read += piece
            if len(read) > most:
                return None
        return bytes(read)


def inside(top: str, path: str) -> str | None:
    """Return the path that `path` is from `top`, without `.` and `..`; None if it leads out of the source."""
    if len(path) > MAX_PATH_BYTES or path.startswith(("/", "~")) or "\\" in path or ":" in path:
        return None
    names: list[str] = top.split("/") if top else []
    for name in path.split("/"):
        if name == "..":
            if not names:
                return None
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return "/".join(names)


def _prefix(directory: str) -> str:
    """Return what the path of everything in a directory begins with."""
    return f"{directory}/" if directory else ""
