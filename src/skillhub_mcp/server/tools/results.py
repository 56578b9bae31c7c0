"""The results of tools: their schemas, and the JSON text that carries them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from skillhub_mcp.disclosure.hits import descriptions, shown, two_digits
from skillhub_mcp.hub import FoundSkill, LoadedSkill, SearchAnswer
from skillhub_mcp.sanitize import all_for_model, for_model, in_json, path_for_model
from skillhub_mcp.search.query import MOST_CLAUSES
from skillhub_mcp.skills.files.content import FileContent
from skillhub_mcp.skills.model import Skill

if TYPE_CHECKING:
    from skillhub_mcp.auditing.rules import AuditFinding
    from skillhub_mcp.execution.runner import CommandResult
    from skillhub_mcp.locks.lock_verifier import LockStanding

MAX_NAME_CHARACTERS = 256
MAX_QUERY_ARGUMENT = 65_536
MAX_PATH_CHARACTERS = 1_024
MAX_TAGS = 20

# Of ten wordings the one by which agents find most for the fewest words (docs/benchmarks.md).
QUERY = "In English: the field's terms, tools and formats for this task, most telling first"

SkillName = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Name from search_skills")]
Path = Annotated[str, Field(max_length=MAX_PATH_CHARACTERS)]
SourceName = Literal["project", "user", "hub", "builtin"]

_SEVERE = ("critical", "high")
LOCK_META_KEY = "io.skillhub/lock"
_SHOWN_WARNINGS = 3
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

NO_SKILLS_NOTE = "No skill: {causes}."
NO_HITS_NOTE = "Nothing fits. Try other words, English ones if yours were not, or go on without a skill."
NEAR_MISSES_NOTE = (
    "Nothing fits well: these are near misses. Ask once more in English with other terms of the field, or go on "
    "without."
)
NO_PROJECT_NOTE = "No project is known, so none was searched: the user names one with SKILLHUB_CWD."
AWAY_NOTE = "Their skills directory is away, so these cannot be loaded now: {names}."
AWAITING_SOURCE = "project; awaits trust (`skillhub trust`)"
LONG_NOTE = "A long text: of its words the {rarest} rarest were searched."
LISTING_NOTE = "Empty query: {shown} of {there} skills by name. Search with a few words of the task."


def _object(required: Sequence[str], **properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


# Titles are left out of these schemas: they would cost tokens in every conversation.
_BOOLEAN, _STRING, _NUMBER = {"type": "boolean"}, {"type": "string"}, {"type": "number"}
_HIT = _object(["name", "description", "score"], name=_STRING, description=_STRING, score=_NUMBER)
SEARCH_SCHEMA = _object(["skills"], skills={"type": "array", "items": _HIT}, confident=_BOOLEAN, note=_STRING)
RUN_SCHEMA = _object(
    ["stdout", "stderr", "exit_code", "timeout", "truncated"],
    stdout=_STRING,
    stderr=_STRING,
    exit_code={"type": "integer"},
    timeout=_BOOLEAN,
    truncated=_object(["stdout", "stderr"], stdout=_BOOLEAN, stderr=_BOOLEAN),
    output_dir=_STRING,
    files={"type": "array", "items": _STRING},
)


def search_result(
    answer: SearchAnswer,
    *,
    every: bool = True,
    causes: str = "",
    no_project: bool = False,
    audited: Callable[[Skill], Sequence[AuditFinding]] = lambda _: (),
) -> dict[str, object]:
    """Return a search's result, hits best first, without empty fields.

    With `every` hit, or fewer if the first clearly fits and the settings allow it. `causes` say why no skill was
    searched, and `no_project` that no project is known. `audited` returns what the audit found in a skill; from high
    severity on, the hit says so.
    """
    if not (every or answer.complete):
        answer = replace(answer, hits=answer.hits[: shown([hit.score for hit in answer.hits])])
    texts = [hit.skill.description for hit in answer.hits]
    # In a list by name none is more likely than another.
    reported = descriptions(texts) if answer.facets is None else descriptions(texts, whole=0)
    skills = [_hit(hit, text, audited(hit.skill)) for hit, text in zip(answer.hits, reported, strict=True)]
    result: dict[str, object] = {"skills": skills}
    nothing = NO_SKILLS_NOTE.format(causes=for_model(causes)) if causes else NO_HITS_NOTE
    if answer.facets is not None:
        result["note"] = LISTING_NOTE.format(shown=len(skills), there=answer.searched) if skills else nothing
        result |= {"facets": all_for_model(asdict(answer.facets))} if skills else {}
    elif not answer.confident:
        result |= {"confident": False, "note": NEAR_MISSES_NOTE if skills else nothing}
    away_roots = {root.path for root in answer.away}
    away = [path_for_model(hit.handle) for hit in answer.hits if hit.skill.root in away_roots]
    more = [LONG_NOTE.format(rarest=MOST_CLAUSES)] if answer.left_out else []
    more += [NO_PROJECT_NOTE] if no_project else []
    more += [AWAY_NOTE.format(names=", ".join(away))] if away else []
    if more:
        result["note"] = " ".join([str(result["note"]), *more] if "note" in result else more)
    if any(hit.contributions for hit in answer.hits):
        counts = {"served": answer.served, "searched": answer.searched, "considered": answer.considered}
        result["explained"] = counts
    return result


def _hit(hit: FoundSkill, description: str, findings: Sequence[AuditFinding]) -> dict[str, object]:
    result: dict[str, object] = {
        "name": path_for_model(hit.handle),
        "description": description,
        "score": two_digits(hit.score),
    }
    if hit.skill.awaits_trust:
        result["source"] = AWAITING_SOURCE
    if hit.skill.category is not None:
        result["category"] = for_model(hit.skill.category)
    if hit.copies:
        result["copies"] = [path_for_model(copy) for copy in hit.copies]
    if reported := _severe(findings):
        result["warning"] = f"audit: {reported[0].severity.value} ({reported[0].rule})"
    if hit.contributions:
        result["reason"] = for_model(hit.why)
        result["explanation"] = [for_model(part.describe()) for part in hit.contributions]
    return result


def _severe(findings: Sequence[AuditFinding]) -> list[AuditFinding]:
    """Return the first finding of each rule, of high severity and worse."""
    by_rule = {one.rule: one for one in reversed(findings) if one.severity.value in _SEVERE}
    return [one for one in findings if by_rule.get(one.rule) is one]


def _warnings(findings: Sequence[AuditFinding]) -> list[str]:
    """Return the warnings of the audit for an agent that loads a skill: in our words, none of the skill's."""
    from skillhub_mcp.auditing.rules import AUDIT_RULES

    reported = _severe(findings)
    warnings = [
        f"audit, {one.severity.value}: {AUDIT_RULES[one.rule].finds} ({path_for_model(one.place)})"
        for one in reported[:_SHOWN_WARNINGS]
    ]
    if (more := len(reported) - _SHOWN_WARNINGS) > 0:
        warnings.append(f"{more} more: the user sees them with `skillhub audit`")
    return warnings


def loaded_json(loaded: LoadedSkill, *, uri: str | None, with_path: bool) -> str:
    """Return a loaded skill's JSON, and `path` only if the client shares the disk. `uri` is the base of its files'."""
    skill = loaded.skill
    result: dict[str, object] = {"name": path_for_model(loaded.handle)}
    if warnings := _warnings(loaded.warnings) if loaded.warnings else []:
        # Before the instructions, which may talk it away.
        result["warnings"] = warnings
    result["instructions"] = loaded.instructions
    if uri is not None:
        result["uri"] = uri
    if with_path:
        result["path"] = path_for_model(skill.directory)
    if skill.allowed_tools:
        result["allowed_tools"] = [for_model(tool) for tool in skill.allowed_tools]
    if loaded.parts > 1:
        result["part"] = f"{loaded.part} of {loaded.parts}"
        if loaded.part < loaded.parts:
            result["next_part"] = loaded.part + 1
        # Without a session the client has to see by it that two parts are of two versions.
        result["digest"] = loaded.digest
    return compact_json(result)


def lock_meta(standing: LockStanding | None, *, with_paths: bool) -> dict[str, object] | None:
    """Return where a skill is from, for a host; None if no lock says it."""
    reported = {} if standing is None else standing.facts(with_paths=with_paths)
    if "source" not in reported and "problem" not in reported:
        return None
    return {LOCK_META_KEY: {key: for_model(one) if isinstance(one, str) else one for key, one in reported.items()}}


def file_json(content: FileContent) -> str:
    """Return a file's JSON; if there is more of the file, `next_offset` is where it continues."""
    result: dict[str, object] = {
        "content": content.content,
        "encoding": content.encoding,
        "truncated": content.truncated,
    }
    if content.truncated:
        result |= {"next_offset": content.next_offset, "size": content.size}
    if content.digest:
        result["digest"] = content.digest
    if content.encoding == "base64":
        result["media_type"] = content.media_type
        if content.media_type.startswith("text/"):
            result["note"] = "not UTF-8: to read it as text, convert it with iconv -f ENCODING -t UTF-8"
    return compact_json(result)


def run_result(result: CommandResult, *, with_path: bool) -> dict[str, object]:
    """Return a command's result in its schema, with the path of its output only if the client shares the disk."""
    files = [path_for_model(name) for name in result.files]
    return {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "exit_code": result.exit_code,
        "timeout": result.timeout,
        "truncated": {"stdout": result.stdout_truncated, "stderr": result.stderr_truncated},
        **({"output_dir": result.output_dir} if with_path and files else {}),
        **({"files": files} if files else {}),
    }


def compact_json(value: object) -> str:
    """Return JSON without blanks, which cost tokens, and with escapes of what cannot be read alone."""
    return in_json(_COMPACT.encode(value))
