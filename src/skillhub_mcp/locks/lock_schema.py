"""What each field of a lock means, and the JSON Schema of a lock: docs/reference/lock.md is written from here. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillhub_mcp.locks.lock_file import OURS, VERSION

SCHEMA_NAME = "skills-lock.schema.json"


@dataclass(frozen=True, slots=True)
class LockField:
    """A field of an entry: its name, what it means, and its JSON Schema."""

    name: str
    meaning: str
    schema: Mapping[str, Any]


_TEXT: Mapping[str, Any] = {"type": "string"}
_DIGEST: Mapping[str, Any] = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_COMMIT: Mapping[str, Any] = {"type": "string", "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})?$"}

NPX_FIELDS_TOLD = (
    LockField("source", "`owner/repo`, a URL, or a path, relative to the lock or absolute", _TEXT),
    LockField("sourceUrl", "the URL, where `source` is not what is fetched", _TEXT),
    LockField("ref", "the branch, tag or commit that was asked for", _TEXT),
    LockField("sourceType", "`github`, `gitlab`, `git`, `local`, `well-known`, or another of `npx skills`", _TEXT),
    LockField("skillPath", "the path of the SKILL.md in the source", _TEXT),
    LockField(
        "computedHash",
        "SHA-256 over the paths and contents of the files, without a border between them and in the order of their "
        "collation: for `npx skills` only. Not written where a name is not ASCII",
        _TEXT,
    ),
    LockField("wellKnownDigest", "the digest that the index of a site has for the skill", _TEXT),
)
HUB_FIELDS_TOLD = (
    LockField("digest", "of every regular file of the skill, as below", _DIGEST),
    LockField(
        "origin",
        "of a renamed skill and of locked edits: the digest of the files that the source gave, or `unknown`",
        {"type": "string", "pattern": "^(sha256:[0-9a-f]{64}|unknown)?$"},
    ),
    LockField(
        "renamed",
        "of a skill that `add --name` installed: its name in the source, with the digest of the source's files after "
        "the name in SKILL.md was replaced",
        {"type": "object", "additionalProperties": _TEXT},
    ),
    LockField("commit", "of a repository, the commit that was fetched", _COMMIT),
    LockField("tree", "the source's own id of the skill's directory, for git that of the tree", _TEXT),
    LockField("executable", "the paths of the files that may be run, sorted", {"type": "array", "items": _TEXT}),
    LockField(
        "irregular",
        "what is no regular file, by path: `-> ` and where a link leads as it is written, `FIFO`, `socket` or "
        "`device`. A skill whose entry does not have this may have none",
        {"type": "object", "additionalProperties": _TEXT},
    ),
    LockField("fetched", "when, in UTC, such as `2026-11-22T22:40:00Z`", _TEXT),
    LockField("signer", "the fingerprint of the key that signed it, if one did", _TEXT),
    LockField("principal", "whose that key is", _TEXT),
    LockField(
        "findings",
        "the rules of the audit that a person accepted, each with the digest for which they did",
        {"type": "object", "additionalProperties": _TEXT},
    ),
    LockField("installed_by", "the program and its version", _TEXT),
)

# What every surface tells of a skill, by name: see LockStanding.
TOLD: Mapping[str, str] = {
    "state": "`unchanged`; `edited`: its files are not those of the lock; `unlocked`: no lock has a digest of it",
    "line_ends": "true if the files differ from those of the lock by line ends only, which counts as unchanged",
    "source": "where it is from; null over HTTP where that is a path of the server's machine",
    "ref": "the branch, tag or commit that was asked for",
    "commit": "the commit that was fetched",
    "digest": "what the lock says that its files are",
    "signer": "whose key signed it, or the key's fingerprint",
    "file": "the first file that is not as it was locked, where that is known",
    "told_by": "`npx skills` or `gh skill`, where only that program says where the skill is from",
    "verified": "false then: nothing says that these files are from there",
    "problem": "why the lock that may name it cannot be read",
}


def json_schema() -> Mapping[str, Any]:
    """Return the JSON Schema (2020-12) of the locks that SkillHub writes. Fields of other programs are permitted."""
    hub = {
        "type": "object",
        "required": ["digest"],
        "properties": {one.name: {"description": one.meaning, **one.schema} for one in HUB_FIELDS_TOLD},
    }
    entry = {
        "type": "object",
        "properties": {
            **{one.name: {"description": one.meaning, **one.schema} for one in NPX_FIELDS_TOLD},
            OURS: hub,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "skills-lock.json",
        "type": "object",
        "required": ["version", "skills"],
        "properties": {
            "version": {"const": VERSION},
            "skills": {"type": "object", "additionalProperties": entry},
        },
    }
