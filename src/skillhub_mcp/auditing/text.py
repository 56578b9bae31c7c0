"""A text as detectors see it: folded, so that case, width, look-alikes and markup do not hide a phrase. Pure."""

from __future__ import annotations

import os
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from skillhub_mcp.auditing.characters import LOOK_ALIKES, without_invisible
from skillhub_mcp.skills.model import SKILL_FILE

_MARKUP = str.maketrans(dict.fromkeys('*_`#>"“”«»„~|', " ") | {"’": "'", "‘": "'"})
_PROSE = frozenset((".md", ".mdx", ".markdown", ".txt", ".rst", ".html", ".htm"))
_LATIN_LETTER = re.compile("[a-z]")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text, and at which of its characters each line of the original starts."""

    text: str
    starts: tuple[int, ...]
    first_line: int

    def line(self, position: int) -> int:
        """Return the 1-based line of the original for a position in `text`."""
        return self.first_line + bisect_right(self.starts, position) - 1


@dataclass(frozen=True)
class AuditText:
    """One text to audit: the file's `path` below the skill, and the 1-based line in that file where the text starts."""

    path: str
    raw: str
    first_line: int = 1

    @property
    def is_prose(self) -> bool:
        """Whether the file is read as prose, not run as code."""
        return os.path.splitext(self.path)[1].lower() in _PROSE

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines as they are written."""
        return self.raw.split("\n")

    @cached_property
    def fenced(self) -> list[bool]:
        """For each line whether it is in a fenced block of Markdown."""
        inside, fenced = False, []
        for line in self.lines:
            is_fence = line.lstrip().startswith(("```", "~~~"))
            fenced.append(inside and not is_fence)
            inside ^= is_fence
        return fenced

    def is_frontmatter(self, number: int) -> bool:
        """Whether the line of that 0-based number is in the frontmatter of a SKILL.md."""
        fences = (at for at, line in enumerate(self.lines) if line.rstrip() == "---")
        return self.path == SKILL_FILE and next(fences, number) < number < next(fences, number)

    @cached_property
    def prose(self) -> Folded:
        """The text as one line in lower case, without markup, invisible characters and repeated blanks."""
        return self._folded(lambda lines: lines.translate(_MARKUP), " ")

    @cached_property
    def code(self) -> Folded:
        """The text in lower case, line by line; a continued line is one."""
        return self._folded(str, "\n")

    def line_at(self, position: int) -> int:
        """Return the 1-based line in the file for a position in `raw`."""
        return self.first_line + self.raw.count("\n", 0, position)

    @cached_property
    def _lower(self) -> str:
        return self.raw.lower() if self.raw.isascii() else "\n".join(map(_fold, self.lines))

    def _folded(self, tidy: Callable[[str], str], between: str) -> Folded:
        folded: list[str] = []
        for line in tidy(self._lower).split("\n"):
            words = " ".join(line.split())
            folded.append(f"{words[:-1].rstrip()} " if words.endswith("\\") else words + between)
        starts = tuple(accumulate(map(len, folded[:-1]), initial=0))
        return Folded("".join(folded), starts, self.first_line)


def _fold(line: str) -> str:
    if line.isascii():
        return line.lower()
    folded = unicodedata.normalize("NFKC", without_invisible(line)).lower()
    # Only beside Latin letters: a Russian word is not disguised English.
    if not _LATIN_LETTER.search(folded):
        return folded
    return " ".join(
        word.translate(LOOK_ALIKES) if _LATIN_LETTER.search(word) and not word.isascii() else word
        for word in folded.split(" ")
    )
