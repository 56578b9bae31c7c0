"""A commit of a repository as a tree: fetched and archived, never checked out; and who signed it.

A name that is both a branch and a tag is refused: what looks like a release could be a branch of any contributor.
Git verifies SSH signatures by the user's files of allowed signers. The lock keeps the first signer, and an update by
another signer, or by none, is refused.
"""

from __future__ import annotations

import os
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from functools import partial

from skillhub_mcp._util.file_modes import changeable_by_others
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import ArchiveRefused, IntegrityFailed, SourceUnreachable
from skillhub_mcp.library.archives import open_tar
from skillhub_mcp.library.sources.git import GitOptions, GitRepository, last_line
from skillhub_mcp.library.sources.source import SkillSource, is_commit, may_be_ref
from skillhub_mcp.library.tree import BOUNDS, PIECE_BYTES, Tree, TreeEntry, TreeEntryKind, in_order
from skillhub_mcp.sanitize import in_line
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
    """Return the patterns of `git ls-remote` that settle a source; none for a commit."""
    if is_commit(source.ref):
        return ()
    if source.ref.startswith("refs/"):
        return (source.ref, f"{source.ref}^{{}}")
    if source.ref in ("", "HEAD"):
        return ("HEAD",)
    return (f"{HEADS}*", f"{TAGS}*")


def ref_of(source: SkillSource, refs: Mapping[str, RemoteRef]) -> RemoteRef:
    """Return the ref that a source means. Raises SourceUnreachable."""
    ref = source.ref
    if is_commit(ref):
        return RemoteRef("", ref, ref)
    if ref in ("", "HEAD"):
        if "HEAD" not in refs:
            raise SourceUnreachable(str(source), "has no commit yet, or no default branch", hint="name one with #REF")
        return refs["HEAD"]
    branch, tag = refs.get(HEADS + ref), refs.get(TAGS + ref)
    if branch is not None and tag is not None and branch.commit != tag.commit:
        hint = f"write #{HEADS}{ref} or #{TAGS}{ref}"
        raise SourceUnreachable(str(source), f"has a branch and a tag {ref!r}", hint=hint)
    found = refs.get(ref) if ref.startswith("refs/") else tag or branch
    if found is None:
        raise _no_ref(source, refs)
    return found


def _no_ref(source: SkillSource, refs: Mapping[str, RemoteRef]) -> SourceUnreachable:
    ref = source.ref
    names = [name.removeprefix(HEADS).removeprefix(TAGS) for name in refs if name.startswith("refs/")]
    # Of a page's URL the first part is read as the ref.
    near = [name for name in names if name.startswith(f"{ref}/")][:_LISTED] or near_names(ref, names)
    hint = f"there are {', '.join(sorted(names)[:_LISTED])}" if names else "it has no branch and no tag"
    if _PART_OF_ID.fullmatch(ref):
        near, hint = [], "write the whole id of a commit"
    return SourceUnreachable(str(source), f"has no branch and no tag {ref!r}", near=near, hint=None if near else hint)


_SHA1_DIGITS = 40
_EXECUTABLE = 0o111


class GitTree(Tree):
    """A commit of a repository; `close` removes the temporary repository."""

    def __init__(self, repository: GitRepository, ref: RemoteRef) -> None:
        super().__init__()
        self.repository = repository
        self.ref = ref
        self.commit = ref.commit
        with ExitStack() as opened:
            opened.callback(repository.close)
            file = opened.enter_context(tempfile.TemporaryFile(dir=repository.directory))
            # Each file has a header, and is padded to whole blocks.
            most = BOUNDS.source_bytes + 4 * tarfile.BLOCKSIZE * BOUNDS.source_entries
            repository.archive(ref.commit, file, most_bytes=most)
            self._tar = open_tar(file)
            self._members = dict[str, tarfile.TarInfo]()
            self.entries = in_order(self._read_entries())
            self.until_closed = opened.pop_all()

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of the file at `path` in pieces. Raises SourceUnreachable."""
        member = self._members.get(path)
        file = self._tar.extractfile(member) if member is not None and member.isreg() else None
        if file is None:
            raise SourceUnreachable(self.repository.shown, f"has no file {path!r}")
        return iter(partial(file.read, PIECE_BYTES), b"")

    def _read_entries(self) -> Iterator[TreeEntry]:
        empty: set[str] = set()
        for count, member in enumerate(self._tar):
            if count >= BOUNDS.source_entries:
                reason = f"it has more than {BOUNDS.source_entries:,} entries"
                raise ArchiveRefused(self.repository.shown, reason)
            path = member.name
            empty.discard(path.rpartition("/")[0])
            self._members[path] = member
            if member.isdir():
                empty.add(path)
            elif not member.issym():
                yield TreeEntry(path, TreeEntryKind.FILE, member.size, bool(member.mode & _EXECUTABLE))
            else:
                yield TreeEntry(path, TreeEntryKind.LINK, target=member.linkname)
        # Git has no empty directories: it writes one for a submodule.
        yield from (TreeEntry(path, TreeEntryKind.SUBMODULE) for path in empty)


def open_git(source: SkillSource, options: GitOptions | None = None) -> GitTree:
    """Fetch what a source means. Raises SourceUnreachable, ArchiveRefused, and CommandUnavailable without git."""
    repository = GitRepository(source.location, str(source), options or GitOptions())
    try:
        return _opened(source, repository)
    except BaseException:
        repository.close()
        raise


def _opened(source: SkillSource, repository: GitRepository) -> GitTree:
    ref = _ref(source, repository)
    repository.initialise("sha1" if len(ref.object_id) == _SHA1_DIGITS else "sha256")
    repository.fetch(ref.name or ref.commit, "--depth=1")
    ids, outcome = repository.try_run("rev-parse", "FETCH_HEAD", "FETCH_HEAD^{commit}")
    if outcome.exit_code != 0:
        raise SourceUnreachable(repository.shown, "names no commit", hint="name a branch, a tag or a commit")
    object_id, commit = ids.decode().split()
    if not ref.name and commit != ref.commit:
        raise SourceUnreachable(str(source), f"gave the commit {commit}")
    tree = GitTree(repository, RemoteRef(ref.name, commit, object_id))
    if source.path and not any(entry.path.startswith(f"{source.path}/") for entry in tree.entries):
        tree.close()
        raise _no_path(source, tree.entries)
    return tree


def remote_ref(source: SkillSource, options: GitOptions | None = None) -> RemoteRef:
    """Return the ref that a source means, with its present commit. Raises what `open_git` raises."""
    repository = GitRepository(source.location, str(source), options or GitOptions())
    try:
        return _ref(source, repository)
    finally:
        repository.close()


def _ref(source: SkillSource, repository: GitRepository) -> RemoteRef:
    asked = asked_for(source)
    return ref_of(source, parse_refs(repository.list_refs(asked)) if asked else {})


def _no_path(source: SkillSource, entries: Sequence[TreeEntry]) -> SourceUnreachable:
    paths = (entry.path.split("/")[:-1] for entry in entries)
    directories = sorted({"/".join(names[:end]) for names in paths for end in range(1, len(names) + 1)})
    last = source.path.rpartition("/")[2]
    same_name = [path for path in directories if path.rpartition("/")[2] == last]
    near = same_name[:3] or near_names(source.path, directories)
    hint = None if near else "`skillhub add --list` of the source without it lists what is there"
    return SourceUnreachable(str(source), f"has no directory {source.path!r}", near=near, hint=hint)


ALLOWED_SIGNERS = "~/.skillhub/allowed_signers"

_MAX_FILE_BYTES = 1024 * 1024
_SSH = b"-----BEGIN SSH SIGNATURE-----"
_BEGIN = re.compile(rb"^(?:gpgsig(?:-sha256)? )?(-----BEGIN [A-Z0-9 ]{1,40}-----)$", re.MULTILINE)
_SSH_GOOD = re.compile(r'^Good "git" signature (?:for (.+) )?with (?:\S+) key (SHA256:[A-Za-z0-9+/=]+)$', re.MULTILINE)
_NOT_RIGHT = ("Could not verify signature", "incorrect signature", "namespace")
_TAG_NAME = re.compile(rb"^tag (.+)$", re.MULTILINE)


class SignatureState(str, Enum):
    """UNKNOWN is valid, by a key that the person has not named; BAD does not fit, or its key was revoked."""

    GOOD = "good"
    UNKNOWN = "unknown"
    UNSIGNED = "unsigned"
    UNCHECKABLE = "uncheckable"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Signature:
    """The fingerprint of a valid signature's key, its owner (`principal`), and why it is not good (`reason`)."""

    state: SignatureState
    fingerprint: str = ""
    principal: str = ""
    reason: str = ""


def signature_of(tree: Tree, allowed_signers: str = ALLOWED_SIGNERS) -> Signature:
    """Return what signs the tag that was asked for, or else the commit. Raises SourceUnreachable."""
    if not isinstance(tree, GitTree):
        return Signature(SignatureState.UNSIGNED, reason="only commits of a repository are signed")
    git, ref = tree.repository, tree.ref
    if ref.object_id != ref.commit:
        tag = git.run("cat-file", "tag", ref.object_id)
        if begun := _BEGIN.findall(tag):
            signed = _TAG_NAME.search(tag.partition(b"\n\n")[0])
            signed_name = signed[1].decode("utf-8", "replace") if signed else ""
            if signed_name != ref.name.removeprefix(TAGS):
                # An old version under a new name.
                return Signature(SignatureState.BAD, reason=f"it was signed as the tag {signed_name!r}")
            return _verified(git, ("verify-tag", "--raw", ref.object_id), begun[-1], allowed_signers)
    begun = _BEGIN.findall(git.run("cat-file", "commit", ref.commit).partition(b"\n\n")[0])
    if not begun:
        return Signature(SignatureState.UNSIGNED, reason="it is not signed")
    return _verified(git, ("verify-commit", "--raw", ref.commit), begun[-1], allowed_signers)


def check_signer(
    subject: str,
    found: Signature,
    *,
    locked: tuple[str, str] | None = None,
    accepted: bool = False,
    required: bool = False,
) -> None:
    """Raise IntegrityFailed for a bad signature, another signer than the lock's, or an unknown one if `required`."""
    is_signed = found.state is not SignatureState.UNSIGNED
    shown = in_line(found.reason) if is_signed else "no signature"
    if found.fingerprint:
        shown = _signer(found.fingerprint, found.principal)
    if found.state is SignatureState.BAD:
        hint = "do not use it; tell its author"
        raise IntegrityFailed(f"the signature of {subject}", expected="one that fits", found=shown, hint=hint)
    if required and found.state is not SignatureState.GOOD:
        expected = "one of your allowed signers (SKILLHUB_REQUIRE_SIGNED=1)"
        hint = f"add the signer's key to {ALLOWED_SIGNERS}, once you know whose it is"
        hint = hint if is_signed else "ask its author to sign it"
        raise IntegrityFailed(f"the signer of {subject}", expected=expected, found=shown, hint=hint)
    if locked is None or not locked[0] or accepted or found.fingerprint == locked[0]:
        return
    # Another key that the person has listed for the same signer, and not for a pattern of signers.
    is_one = bool(locked[1]) and not set("*?,!") & set(locked[1])
    if not (is_one and found.state is SignatureState.GOOD and found.principal == locked[1]):
        hint = "ask its author; --accept-signer accepts it from now on"
        raise IntegrityFailed(f"the signer of {subject}", expected=_signer(*locked), found=shown, hint=hint)


def _signer(fingerprint: str, principal: str) -> str:
    return in_line(f"{principal} ({fingerprint})" if principal else fingerprint)


def _verified(git: GitRepository, arguments: Sequence[str], begins: bytes, allowed_signers: str) -> Signature:
    if begins != _SSH:
        return _uncheckable("signed in a way that SkillHub does not check (only SSH signatures are checked)")
    signers = expand_home(allowed_signers)
    exposure = changeable_by_others(signers)
    if exposure is not None:
        return _uncheckable(f"{allowed_signers} is not used: {exposure.reason}; {exposure.fix}")
    _, outcome = git.try_run(*arguments, settings={"gpg.ssh.allowedSignersFile": _joined(git, signers)})
    good = _SSH_GOOD.search(outcome.messages)
    if good is None:
        if any(words in outcome.messages for words in _NOT_RIGHT):
            return Signature(SignatureState.BAD, reason="its signature does not fit it, or its key was revoked")
        return _uncheckable(f"its signature by an ssh key cannot be checked: {last_line(outcome.messages)}")
    principal, fingerprint = good[1] or "", good[2]
    if outcome.exit_code == 0 and principal:
        return Signature(SignatureState.GOOD, fingerprint, principal)
    reason = "its key has expired" if "has expired" in outcome.messages else "its key is none that you named"
    return Signature(SignatureState.UNKNOWN, fingerprint, reason=reason)


def _joined(git: GitRepository, signers: str) -> str:
    """Write the lines of the person's own file and of ours to one file, and return its path."""
    theirs, _ = git.try_run("config", "--type=path", "--get", "gpg.ssh.allowedSignersFile", outside=True)
    joined = os.path.join(git.directory, "allowed_signers")
    with open(joined, "wb") as file:
        for path in (os.fsdecode(theirs.rstrip(b"\n")), signers):
            if path and os.path.isfile(path):
                with open(path, "rb") as lines:
                    file.write(lines.read(_MAX_FILE_BYTES) + b"\n")
    return joined


def _uncheckable(reason: str) -> Signature:
    return Signature(SignatureState.UNCHECKABLE, reason=reason)
