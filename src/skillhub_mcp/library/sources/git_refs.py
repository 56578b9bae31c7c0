"""Which ref of a repository is meant, and where it ends within a page's path. Pure.

A branch and a tag of one name are not chosen between: what a person takes for a release could be anybody's branch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.sources.source import SkillSource, is_commit, may_be_ref
from skillhub_mcp.skills.suggestions import near_names

HEADS, TAGS = "refs/heads/", "refs/tags/"
_LISTED = 5
_PART_OF_ID = re.compile("[0-9a-f]{7,63}")


@dataclass(frozen=True, slots=True)
class RemoteRef:
    """A ref of a repository as it is there now: its whole name, empty for a commit by its id, and its commit.

    `object_id` is that of what the ref names: a tag of its own, or the commit.
    """

    name: str
    commit: str
    object_id: str = ""

    @property
    def is_pinned(self) -> bool:
        """Whether it is meant to stay: a tag, or a commit."""
        return not self.name or self.name.startswith(TAGS)


def parse_refs(output: bytes) -> Mapping[str, RemoteRef]:
    """Return refs by name from the output of `git ls-remote --symref`; HEAD's own name is that of its branch."""
    found: dict[str, str] = {}
    head = ""
    for line in output.decode("utf-8", "replace").splitlines():
        value, _, name = line.partition("\t")
        # Names are the server's: git is given none that is more than a name, and nobody is shown what hides.
        if value.startswith(f"ref: {HEADS}") and name == "HEAD" and may_be_ref(value[len("ref: ") :]):
            head = value[len("ref: ") :]
        elif is_commit(value) and name and name.isprintable():
            found[name] = value
    refs = {
        name: RemoteRef(name, found.get(f"{name}^{{}}", value), value)
        for name, value in found.items()
        if not name.endswith("^{}")
    }
    if "HEAD" in refs and head:
        refs["HEAD"] = replace(refs["HEAD"], name=head)
    return refs


def asked_for(source: SkillSource) -> Sequence[str]:
    """Return what `git ls-remote` is to be asked for, to settle a source: options, or a ref; nothing for a commit."""
    if is_commit(source.ref):
        return ()
    if source.ref.startswith("refs/"):
        return (source.ref, f"{source.ref}^{{}}")
    if source.ref in ("", "HEAD") and not source.ref_and_path:
        return ("HEAD",)
    return ("--heads", "--tags")


def settle(source: SkillSource, refs: Mapping[str, RemoteRef]) -> tuple[SkillSource, RemoteRef]:
    """Return a source with its ref and path told apart, and the ref that it means. Raises SourceUnreachable."""
    if is_commit(source.ref):
        return source, RemoteRef("", source.ref, source.ref)
    if source.ref_and_path:
        return _settle_page(source, refs)
    if source.ref in ("", "HEAD"):
        if "HEAD" not in refs:
            raise SourceUnreachable(
                str(source), "has no commit yet, or shows none first", hint="name a branch with #REF"
            )
        return source, refs["HEAD"]
    found = _named(source, source.ref, refs)
    if found is None:
        raise _no_ref(source, source.ref, refs)
    return source, found


def _settle_page(source: SkillSource, refs: Mapping[str, RemoteRef]) -> tuple[SkillSource, RemoteRef]:
    parts = source.ref_and_path.split("/")
    for end in range(len(parts), 0, -1):
        ref, path = "/".join(parts[:end]), "/".join(parts[end:])
        if (found := _named(source, ref, refs)) is not None:
            return replace(source, ref=ref, path=path, ref_and_path=""), found
    raise _no_ref(source, source.ref_and_path, refs)


def _named(source: SkillSource, ref: str, refs: Mapping[str, RemoteRef]) -> RemoteRef | None:
    if ref.startswith("refs/"):
        return refs.get(ref)
    branch, tag = refs.get(HEADS + ref), refs.get(TAGS + ref)
    if branch is not None and tag is not None and branch.commit != tag.commit:
        raise SourceUnreachable(
            str(source), f"has a branch and a tag {ref!r}", hint=f"write #{HEADS}{ref} or #{TAGS}{ref}"
        )
    return tag or branch


def _no_ref(source: SkillSource, ref: str, refs: Mapping[str, RemoteRef]) -> SourceUnreachable:
    names = [name.removeprefix(HEADS).removeprefix(TAGS) for name in refs if name.startswith("refs/")]
    if _PART_OF_ID.fullmatch(ref):
        raise SourceUnreachable(str(source), f"has no branch and no tag {ref!r}", hint="write the whole id of a commit")
    near = near_names(ref, names) or near_names(ref.split("/", 1)[0], names)
    there = f"there are {', '.join(sorted(names)[:_LISTED])}" if names else "it has no branch and no tag"
    return SourceUnreachable(str(source), f"has no branch and no tag {ref!r}", near=near, hint=None if near else there)
