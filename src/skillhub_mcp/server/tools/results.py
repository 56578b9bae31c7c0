"""What do results look like on the wire? Seed 002 §3's schemas, and the JSON text that carries them."""

from __future__ import annotations

import json
from dataclasses import asdict

from pydantic import BaseModel, ConfigDict

from skillhub_mcp.disclosure.sanitization import shortened
from skillhub_mcp.execution.runner import CommandResult
from skillhub_mcp.hub import FoundSkill, LoadedSkill, SearchAnswer
from skillhub_mcp.skills.files import FileContent

_SHOWN_DESCRIPTION = 1_024
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

NO_SKILLS_NOTE = "This hub has no skills yet. Its owner adds one by putting a folder with a SKILL.md into SKILLS_DIR."
NO_HITS_NOTE = "Nothing fits. Try other words, English ones if yours were not, or go on without a skill."
NEAR_MISSES_NOTE = "Nothing fits well: these are near misses. Try other words, or go on without a skill."
LISTING_NOTE = "Nothing was asked for: {shown} of {there} skills by name. Ask with a few words of the task."


class Truncated(BaseModel):
    """Which of a command's outputs were cut."""

    model_config = ConfigDict(extra="forbid")

    stdout: bool
    stderr: bool


class RunResult(BaseModel):
    """What a command came to."""

    model_config = ConfigDict(extra="forbid")

    stdout: str
    stderr: str
    exit_code: int
    timeout: bool
    truncated: Truncated


def search_result(answer: SearchAnswer) -> dict[str, object]:
    """Return seed 002 §3.2's result, hits best first, without what would say nothing.

    A description beyond the specification's 1,024 characters is shortened. Where none fits, `confident` is false, and
    `note` says what to do.
    """
    skills = [_hit(hit) for hit in answer.hits]
    result: dict[str, object] = {"skills": skills}
    if answer.facets is not None:
        result["note"] = LISTING_NOTE.format(shown=len(skills), there=answer.searched) if skills else NO_SKILLS_NOTE
        return result | ({"facets": asdict(answer.facets)} if skills else {})
    if not answer.confident:
        nothing = NO_HITS_NOTE if answer.served else NO_SKILLS_NOTE
        result |= {"confident": False, "note": NEAR_MISSES_NOTE if skills else nothing}
    if any(hit.contributions for hit in answer.hits):
        counts = {"served": answer.served, "searched": answer.searched, "considered": answer.considered}
        result["explained"] = counts
    return result


def _hit(hit: FoundSkill) -> dict[str, object]:
    told: dict[str, object] = {
        "name": hit.handle,
        "description": shortened(hit.skill.description, _SHOWN_DESCRIPTION),
        "score": round(hit.score, 4),
    }
    if hit.skill.category is not None:
        told["category"] = hit.skill.category
    if hit.why:
        told["reason"] = hit.why
    if hit.copies:
        told["copies"] = list(hit.copies)
    if hit.contributions:
        told["explanation"] = [part.describe() for part in hit.contributions]
    return told


def loaded_json(loaded: LoadedSkill, *, uri: str | None, with_path: bool) -> str:
    """Return seed 002 §3.3's JSON. The body stands in it once; `path` only where the client shares the disk.

    `uri` is where its files are as resources, for a skill that is published so.
    """
    skill = loaded.skill
    result: dict[str, object] = {"name": loaded.handle, "instructions": loaded.instructions}
    if uri is not None:
        result["uri"] = uri
    if with_path:
        result["path"] = skill.directory
    if skill.allowed_tools:
        result["allowed_tools"] = list(skill.allowed_tools)
    if loaded.parts > 1:
        result["part"] = f"{loaded.part} of {loaded.parts}"
        if loaded.part < loaded.parts:
            result["next_part"] = loaded.part + 1
    return compact_json(result)


def file_json(content: FileContent) -> str:
    """Return seed 002 §3.4's JSON; where there is more of the file, `next_offset` is where it goes on."""
    result: dict[str, object] = {
        "content": content.content,
        "encoding": content.encoding,
        "truncated": content.truncated,
    }
    if content.truncated:
        result |= {"next_offset": content.next_offset, "size": content.size}
    if content.encoding == "base64":
        result["media_type"] = content.media_type
    return compact_json(result)


def run_result(result: CommandResult) -> RunResult:
    """Return the wire form of what a command came to."""
    return RunResult(
        stdout=result.stdout,
        stderr=result.stderr,
        exit_code=result.exit_code,
        timeout=result.timeout,
        truncated=Truncated(stdout=result.stdout_truncated, stderr=result.stderr_truncated),
    )


def compact_json(value: object) -> str:
    """Return JSON without blanks that cost tokens and without escapes of what is readable."""
    return _COMPACT.encode(value)
