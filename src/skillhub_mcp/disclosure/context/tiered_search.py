"""The search of the agent-context tools, in tiers: exact path, exact name, prefix, shared words without stop words."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from skillhub_mcp.analysis.lexicon import stop_word_languages, stop_words
from skillhub_mcp.analysis.scripts import UNSPACED, fold_marks
from skillhub_mcp.disclosure.context.schema import SkillMetadata, SkillScope, SkillSearchResult
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import refuse_nul
from skillhub_mcp.skills.names import fold_name

_EXACT_PATH = 1.0
_MAX_HITS = 50
_EXACT_NAME = 0.9
_PREFIX = (0.6, 0.8)
_OVERLAP = (0.1, 0.5)

_WORD = re.compile(r"[^\W_]+")
# In Japanese, what is written in hiragana alone is mostly grammar.
_HIRAGANA = re.compile("[\u3041-\u309f]+")


@dataclass(frozen=True, slots=True)
class TieredResult:
    """The best hits, and the number of all hits."""

    hits: tuple[SkillSearchResult, ...]
    count: int

    @property
    def truncated(self) -> bool:
        """Whether more matched than are shown."""
        return self.count > len(self.hits)


def tiered_search(
    skills: Iterable[SkillMetadata],
    query: str,
    *,
    cwd: str,
    limit: int,
    scope: SkillScope | None = None,
) -> TieredResult:
    """Return the skills that match `query`, best first, then repo before user, then by path. Raises InvalidArgument."""
    refuse_nul(query=query)
    text = " ".join(query.split())
    if not text:
        raise InvalidArgument("query", "is empty", hint="give a path, a name, or a few words of the task")
    if limit < 1:
        raise InvalidArgument("limit", f"must be from 1 to {_MAX_HITS}")
    if scope not in (None, "repo", "user"):
        raise InvalidArgument("scope", f"{scope!r} is not one of repo, user")
    matcher = _Matcher(text, cwd)
    hits = [hit for skill in skills if scope in (None, skill.scope) and (hit := matcher.match(skill)) is not None]
    hits.sort(key=lambda hit: (-hit.score, hit.skill.scope != "repo", hit.skill.path))
    return TieredResult(tuple(hits[: min(limit, _MAX_HITS)]), len(hits))


class _Matcher:
    """Matches skills against a query that is analysed once."""

    def __init__(self, text: str, cwd: str) -> None:
        expanded = expand_home(text)
        path = os.path.normpath(os.path.join(cwd, expanded))
        self._paths = {path, os.path.realpath(path)}
        self._name = fold_name(text)
        self._tokens = telling(tokens(text))

    def match(self, skill: SkillMetadata) -> SkillSearchResult | None:
        if skill.path in self._paths or skill.dir in self._paths:
            return SkillSearchResult(skill=skill, score=_EXACT_PATH, reason="exact_path")
        name = fold_name(skill.name)
        if name == self._name:
            return SkillSearchResult(skill=skill, score=_EXACT_NAME, reason="exact_name")
        if name.startswith(self._name):
            return SkillSearchResult(skill=skill, score=_scale(_PREFIX, len(self._name) / len(name)), reason="prefix")
        in_name = tokens(skill.name)
        shared = self._tokens & (in_name | tokens(skill.description))
        if not shared:
            return None
        # A word of the name counts twice.
        weight = len(shared) + len(shared & in_name)
        share = weight / (2 * len(self._tokens))
        return SkillSearchResult(skill=skill, score=_scale(_OVERLAP, share), reason="token_overlap")


def tokens(text: str) -> frozenset[str]:
    """Return the folded words of a text, and the character pairs of unspaced scripts."""
    found: set[str] = set()
    for word in _WORD.findall(fold_name(text)):
        rest = word
        for run in UNSPACED.findall(word):
            found.update(run[start : start + 2] for start in range(max(1, len(run) - 1)))
            rest = rest.replace(run, " ", 1)
        found.update(rest.split())
    return frozenset(found)


def telling(words: frozenset[str]) -> frozenset[str]:
    """Return the tokens of a query without stop words of English and the query's language."""
    folded = {word: fold_marks(word) for word in words}
    counts = Counter(language for word in folded.values() for language in stop_word_languages(word))
    # One foreign stop word proves nothing.
    languages = {"en", *(language for language, count in counts.items() if count > max(1, counts["en"]))}
    empty = frozenset().union(*(stop_words(language) for language in languages))
    left = frozenset(word for word in words if folded[word] not in empty)
    return frozenset(word for word in left if not _HIRAGANA.fullmatch(word)) or left


def _scale(bounds: tuple[float, float], share: float) -> float:
    low, high = bounds
    return low + (high - low) * min(1.0, share)
