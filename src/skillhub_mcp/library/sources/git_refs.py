"""Which ref of a repository is meant, and where it ends within a page's path. Pure.

A branch and a tag of one name are not chosen between: what looks like a release could be anybody's branch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.sources.source import SkillSource, is_commit, may_be_ref
from skillhub_mcp.skills.names import near_names

HEADS, TAGS = "refs/heads/", "refs/tags/"
_LISTED = 5
_PART_OF_ID = re.compile("[0-9a-f]{7,63}")


@dataclass(frozen=True, slots=True)
class RemoteRef:
    """A ref of a repository: its whole name, empty for a commit by its id, its commit, and the id of what it names."""

    name: str
    commit: str
    object_id: str = ""

    @property
    def is_pinned(self) -> bool:
        """Whether it is a tag or a commit."""
        return not self.name or self.name.startswith(TAGS)


def parse_refs(output: bytes) -> Mapping[str, RemoteRef]:
    """Return refs by name from the output of `git ls-remote --symref`; HEAD's own name is that of its branch."""
    found: dict[str, str] = {}
    head = ""
    for line in output.decode("utf-8", "replace").splitlines():
        value, _, name = line.partition("\t")
        # The server chooses the names: git must take none for an option.
        if value.startswith(f"ref: {HEADS}") and name == "HEAD" and may_be_ref(value[len("ref: ") :]):
            head = value[len("ref: ") :]
        elif is_commit(value) and name and name.isprintable():
            found[name] = value
    return {
        name: RemoteRef(head if name == "HEAD" and head else name, found.get(f"{name}^{{}}", value), value)
        for name, value in found.items()
        if not name.endswith("^{}")
    }


def asked_for(source: SkillSource) -> Sequence[str]:
    """Return the arguments of `git ls-remote` that settle a source: options, or a ref; nothing for a commit."""
    if is_commit(source.ref):
        return ()
    if source.ref.startswith("refs/"):
        return (source.ref, f"{source.ref}^{{}}")
    if source.ref in ("", "HEAD") and not source.ref_and_path:
        return ("HEAD",)
    return ("--heads", "--tags")


def settle(source: SkillSource, refs: Mapping[str, RemoteRef]) -> tuple[SkillSource, RemoteRef]:
    """Return a source with its ref and path separated, and the ref that it means. Raises SourceUnreachable."""
    if is_commit(source.ref):
        return source, RemoteRef("", source.ref, source.ref)
    if source.ref in ("", "HEAD") and not source.ref_and_path:
        if "HEAD" not in refs:
            raise SourceUnreachable(str(source), "has no commit yet, or no default branch", hint="name one with #REF")
        return source, refs["HEAD"]
    asked = source.ref_and_path or source.ref
    # Only of a page's path may a part be the ref; the longest wins.
    parts = asked.split("/") if source.ref_and_path else [asked]
    for end in range(len(parts), 0, -1):
        ref, path = "/".join(parts[:end]), "/".join(parts[end:])
        if (found := _named(source, ref, refs)) is not None:
            return replace(source, ref=ref, path=path or source.path, ref_and_path=""), found
    raise _no_ref(source, asked, refs)


def _named(source: SkillSource, ref: str, refs: Mapping[str, RemoteRef]) -> RemoteRef | None:
    if ref.startswith("refs/"):
        return refs.get(ref)
    branch, tag = refs.get(HEADS + ref), refs.get(TAGS + ref)
    if branch is not None and tag is not None and branch.commit != tag.commit:
        hint = f"write #{HEADS}{ref} or #{TAGS}{ref}"
        raise SourceUnreachable(str(source), f"has a branch and a tag {ref!r}", hint=hint)
    return tag or branch


def _no_ref(source: SkillSource, ref: str, refs: Mapping[str, RemoteRef]) -> SourceUnreachable:
    names = [name.removeprefix(HEADS).removeprefix(TAGS) for name in refs if name.startswith("refs/")]
    near = near_names(ref, names) or near_names(ref.split("/", 1)[0], names)
    hint = f"there are {', '.join(sorted(names)[:_LISTED])}" if names else "it has no branch and no tag"
    if _PART_OF_ID.fullmatch(ref):
        near, hint = [], "write the whole id of a commit"
    return SourceUnreachable(str(source), f"has no branch and no tag {ref!r}", near=near, hint=None if near else hint)
