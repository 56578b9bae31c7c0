"""Check one skill: its SKILL.md and, for advice, its other text files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from skillhub_mcp.disclosure.catalogue import estimate_tokens
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.files import ReadLimits, list_files, read_file, read_whole
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, SKILL_FILE, FileStamp, Skill, is_skill_file
from skillhub_mcp.skills.parser import ParseResult, parse_skill
from skillhub_mcp.skills.rules import Diagnostic, violation
from skillhub_mcp.validation.advice import (
    body_advice,
    description_advice,
    reference_advice,
    template_advice,
    unreferenced_advice,
)
from skillhub_mcp.validation.targets import Target
from skillhub_mcp.validation.verdict import Cost, ValidationResult, findings

_SAMPLED_BYTES = 64 * 1024
_NO_STAMP = FileStamp(0, 0, "", 0)


def check(target: Target, *, advice: bool = True) -> ValidationResult:
    """Check the skill at `target`. Never raises on the skill's content."""
    if target.directory is None:
        return ValidationResult(target.path, None, findings([violation(target.rule, target.problem)]))
    file = skill_file_in(target.directory) or SKILL_FILE
    try:
        content = read_whole(target.directory, file, skill=target.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError as error:
        return ValidationResult(target.path, None, findings([_unreadable(os.path.join(target.directory, file), error)]))
    read = parse_skill(
        content,
        directory=target.directory,
        root=target.directory,
        directory_name=target.name,
        stamp=_NO_STAMP,
        file_name=file,
    )
    found = list(read.diagnostics)
    if read.skill is None:
        return ValidationResult(target.path, None, findings(found))
    texts, tokens = _texts(target.directory)
    cost = Cost(
        catalogue=estimate_tokens(f"{read.skill.name} {read.skill.description}"),
        body=estimate_tokens(read.body),
        files=tokens,
    )
    if advice:
        found += _advice(content, read.skill, read, texts)
    return ValidationResult(target.path, read.skill.name, findings(found), cost)


def _unreadable(path: str, error: SkillHubError) -> Diagnostic:
    try:
        size = os.stat(path).st_size
    except OSError:
        size = 0
    if size > MAX_SKILL_FILE_BYTES:
        return violation("file-too-large", f"the file has {size:,} bytes")
    return violation("file-unreadable", error.message)


def _advice(content: bytes, skill: Skill, read: ParseResult, texts: dict[str, str | None]) -> Iterator[Diagnostic]:
    body = read.body
    first_line = 1 + content.count(b"\n") - body.count("\n")
    yield from body_advice(body, first_line)
    yield from template_advice(body, first_line)
    yield from description_advice(skill.description, read.lines.get("description"))
    yield from reference_advice(body, first_line, texts.keys())
    readable = {path: text for path, text in texts.items() if text is not None}
    own = {path for path in texts if is_skill_file(path)}
    yield from unreferenced_advice(texts.keys() - own, {**readable, SKILL_FILE: body})


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
