"""Check one skill: its SKILL.md and, for advice, its other text files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from skillhub_mcp.disclosure.catalogue import estimate_tokens
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.files.content import ReadLimits, read_file, read_whole
from skillhub_mcp.skills.files.listing import list_files
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, SKILL_FILE, is_skill_file
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.skills.rules import RULES, Diagnostic, Severity, violation
from skillhub_mcp.validation.advice import advice_on
from skillhub_mcp.validation.targets import Target

_SAMPLED_BYTES = 64 * 1024
_ORDER = {severity: place for place, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Cost:
    """The estimated tokens of name and description, of the body, and of all text files."""

    catalogue: int
    body: int
    files: int


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The findings for one skill, with strict severities. `path` is its SKILL.md, or the given path if it has none."""

    path: str
    name: str | None
    findings: tuple[Diagnostic, ...]
    cost: Cost | None = None

    @property
    def valid(self) -> bool:
        """Whether the skill conforms to the specification."""
        return not self.has(Severity.ERROR)

    def has(self, severity: Severity) -> bool:
        """Whether there is a finding of `severity` or worse."""
        return any(_ORDER[finding.severity] <= _ORDER[severity] for finding in self.findings)


def _findings(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics with strict severities, the worst first, then by line."""
    found = [replace(one, severity=RULES[one.rule].verdict) for one in diagnostics]
    return tuple(sorted(found, key=lambda one: (_ORDER[one.severity], one.line or 0, one.rule, one.message)))


def check(target: Target, *, advice: bool = True) -> ValidationResult:
    """Check the skill at `target`. Never raises on the skill's content."""
    if target.directory is None:
        return _failed(target, violation(target.rule, target.problem))
    file = skill_file_in(target.directory) or SKILL_FILE
    try:
        content = read_whole(target.directory, file, skill=target.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError as error:
        return _failed(target, _unreadable(os.path.join(target.directory, file), error))
    read = parse_skill(content, directory=target.directory, directory_name=target.name, file_name=file)
    if read.skill is None:
        return _failed(target, *read.diagnostics)
    texts, tokens = _texts(target.directory)
    description = read.skill.description
    cost = Cost(
        catalogue=estimate_tokens(f"{read.skill.name} {description}"), body=estimate_tokens(read.body), files=tokens
    )
    found = list(read.diagnostics)
    if advice:
        first_line = 1 + content.count(b"\n") - read.body.count("\n")
        found += advice_on(description, read.lines.get("description"), read.body, first_line, texts)
    return ValidationResult(target.path, read.skill.name, _findings(found), cost)


def _failed(target: Target, *found: Diagnostic) -> ValidationResult:
    return ValidationResult(target.path, None, _findings(found))


def _unreadable(path: str, error: SkillHubError) -> Diagnostic:
    try:
        size = os.stat(path).st_size
    except OSError:
        size = 0
    if size > MAX_SKILL_FILE_BYTES:
        return violation("file-too-large", f"the file has {size:,} bytes")
    return violation("file-unreadable", error.message)


def _texts(directory: str) -> tuple[dict[str, str | None], int]:
    """Return the skill's files by relative path, with the start of each text file, and the tokens of all text."""
    texts: dict[str, str | None] = {}
    tokens = 0
    entries, _ = list_files(directory, serve_dotfiles=False)
    for entry in entries:
        texts[entry.path] = None
        if is_skill_file(entry.path):
            continue
        try:
            read = read_file(
                directory, entry.path, skill=os.path.basename(directory), limits=ReadLimits(max_bytes=_SAMPLED_BYTES)
            )
        except SkillHubError:
            continue
        if read.encoding != "base64":
            texts[entry.path] = read.content
            share = max(1.0, entry.size / _SAMPLED_BYTES)
            tokens += round(estimate_tokens(read.content) * share)
    return texts, tokens
