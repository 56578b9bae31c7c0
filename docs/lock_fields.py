"""The fields of the lock: its JSON Schema, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.alias_generators import to_camel

from skillhub_mcp.locks.lock_file import NPX_FIELDS, OURS, VERSION, LockedSkill

SCHEMA_NAME = "skills-lock.schema.json"

# What LockStanding reports of a skill, by name.
STANDING_FIELDS: Mapping[str, str] = {
    "state": "`unchanged`; `edited`: its files are not those of the lock; `unlocked`: no lock has a digest of it",
    "line_ends": "true if the files differ from those of the lock by line ends only, which counts as unchanged",
    "source": "where it is from; null over HTTP if that is a path of the server's machine",
    "ref": "the branch, tag or commit that was asked for",
    "commit": "the commit that was fetched",
    "digest": "the digest of its files in the lock",
    "signer": "the signer, or the key's fingerprint",
    "file": "the first file that is not as it was locked, if that is known",
    "recorded_by": "`npx skills`, if the lock has no digest of ours",
    "verified": "false in that case",
    "problem": "why the lock that may name it cannot be read",
}


def json_schema() -> Mapping[str, Any]:
    """Return the JSON Schema (2020-12) of a lock. Fields of other programs are permitted."""
    entry = TypeAdapter(LockedSkill).json_schema()
    known = entry["properties"]
    properties = {name: known[name] for name in map(to_camel, NPX_FIELDS)}
    properties[OURS] = entry["$defs"]["LockedByHub"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "skills-lock.json",
        "type": "object",
        "required": ["version", "skills"],
        "properties": {
            "version": {"const": VERSION},
            "skills": {"type": "object", "additionalProperties": {"type": "object", "properties": properties}},
        },
    }


def field_meanings() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return what each field of npx skills means, and each of SkillHub."""
    entry = json_schema()["properties"]["skills"]["additionalProperties"]["properties"]
    ours = entry.pop(OURS)["properties"]
    reported = ({name: one["description"] for name, one in each.items()} for each in (entry, ours))
    return next(reported), next(reported)
