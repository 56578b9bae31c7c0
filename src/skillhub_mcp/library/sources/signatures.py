"""Who signed what was fetched: git verifies SSH signatures against the person's files of allowed signers.

A signature says who vouches for a commit, not that the commit is good. The lock keeps the first signer, and an update
by another signer, or by none, is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from skillhub_mcp._util.file_modes import changeable_by_others
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import IntegrityFailed
from skillhub_mcp.library.sources.git import GitRepository, last_line
from skillhub_mcp.library.sources.git_refs import TAGS
from skillhub_mcp.library.sources.git_tree import GitTree
from skillhub_mcp.sanitize import in_line

ALLOWED_SIGNERS = "~/.skillhub/allowed_signers"

_MAX_FILE_BYTES = 1024 * 1024
_SSH = b"-----BEGIN SSH SIGNATURE-----"
_BEGIN = re.compile(rb"^(?:gpgsig(?:-sha256)? )?(-----BEGIN [A-Z0-9 ]{1,40}-----)$", re.MULTILINE)
_SSH_GOOD = re.compile(r'^Good "git" signature (?:for (.+) )?with (?:\S+) key (SHA256:[A-Za-z0-9+/=]+)$', re.MULTILINE)
_NOT_RIGHT = ("Could not verify signature", "incorrect signature", "namespace")
_TAG_NAME = re.compile(rb"^tag (.+)$", re.MULTILINE)


class SignatureState(str, Enum):
    """What is known of a signature.

    `good` is right and by a key that the person named; `unknown` is right, by a key that they did not; `bad` does not
    fit, or its key was revoked; `uncheckable` was not checked, and says nothing.
    """

    GOOD = "good"
    UNKNOWN = "unknown"
    UNSIGNED = "unsigned"
    UNCHECKABLE = "uncheckable"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Signature:
    """What signs a commit: the key's `fingerprint`, whose it is (`principal`), and why it is not good (`reason`).

    A fingerprint is only there where the signature is right, so that nobody's may be copied from elsewhere.
    """

    state: SignatureState
    fingerprint: str = ""
    principal: str = ""
    reason: str = ""


def signature_of(tree: GitTree, allowed_signers: str = ALLOWED_SIGNERS) -> Signature:
    """Return what signs the tag that was asked for, or, where that is not signed, the commit.

    Known keys are those in git's `gpg.ssh.allowedSignersFile` and in `allowed_signers`, files as ssh-keygen(1)
    describes. Raises SourceUnreachable if git fails.
    """
    git, ref = tree.repository, tree.ref
    if ref.object_id != ref.commit:
        tag = git.run("cat-file", "tag", ref.object_id)
        if begun := _BEGIN.findall(tag):
            found = _verified(git, ("verify-tag", "--raw", ref.object_id), begun[-1], allowed_signers)
            return _as_this_tag(found, tag, ref.name)
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
    """Refuse what is not signed as it must be: by the signer of the lock, and, where `required`, by one who is known.

    `locked` is the fingerprint and the principal of the lock, and `accepted` that the person accepts another.
    Raises IntegrityFailed. Pure.
    """
    told = _told(found)
    if found.state is SignatureState.BAD:
        raise IntegrityFailed(
            f"the signature of {subject}", expected="one that fits", found=told, hint="do not use it; tell its author"
        )
    if required and found.state is not SignatureState.GOOD:
        raise IntegrityFailed(
            f"the signer of {subject}",
            expected="one of your allowed signers (SKILLHUB_REQUIRE_SIGNED=1)",
            found=told,
            hint="ask its author to sign it"
            if found.state is SignatureState.UNSIGNED
            else f"add the signer's key to {ALLOWED_SIGNERS}, once you know whose it is",
        )
    if locked is None or not locked[0] or accepted or _is_same(found, locked):
        return
    fingerprint, principal = locked
    raise IntegrityFailed(
        f"the signer of {subject}",
        expected=_named(fingerprint, principal),
        found=told,
        hint="ask its author; --accept-signer accepts it from now on",
    )


def _is_same(found: Signature, locked: tuple[str, str]) -> bool:
    fingerprint, principal = locked
    if found.fingerprint == fingerprint:
        return True
    # Another key that the person has listed for the very same signer, and not for a pattern of signers.
    is_one = principal and not set("*?,!") & set(principal)
    return bool(is_one) and found.state is SignatureState.GOOD and found.principal == principal


def _named(fingerprint: str, principal: str) -> str:
    return in_line(f"{principal} ({fingerprint})" if principal else fingerprint)


def _told(found: Signature) -> str:
    if found.fingerprint and found.state in (SignatureState.GOOD, SignatureState.UNKNOWN):
        return _named(found.fingerprint, found.principal)
    return "no signature" if found.state is SignatureState.UNSIGNED else in_line(found.reason)


def _as_this_tag(found: Signature, tag: bytes, name: str) -> Signature:
    """Refuse a tag that was signed under another name: an old version that is shown as a new one."""
    signed = _TAG_NAME.search(tag.partition(b"\n\n")[0])
    signed_name = signed[1].decode("utf-8", "replace") if signed else ""
    if signed_name == name.removeprefix(TAGS):
        return found
    return Signature(SignatureState.BAD, reason=f"it was signed as the tag {signed_name!r}")


def _verified(git: GitRepository, arguments: Sequence[str], begins: bytes, allowed_signers: str) -> Signature:
    if begins != _SSH:
        return _uncheckable("signed in a way that SkillHub does not check (only SSH signatures are checked)")
    signers = expand_home(allowed_signers)
    exposure = changeable_by_others(signers)
    if exposure is not None:
        return _uncheckable(f"{allowed_signers} is not used: {exposure.reason}; {exposure.fix}")
    _, outcome = git.try_run(*arguments, settings={"gpg.ssh.allowedSignersFile": _joined(git, signers)})
    return read_ssh(outcome.messages, verified=outcome.exit_code == 0)


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


def read_ssh(messages: str, *, verified: bool) -> Signature:
    """Return what `git verify-commit --raw` says of a signature by an ssh key; `verified` is that it exited with 0."""
    good = _SSH_GOOD.search(messages)
    if good is None:
        if any(words in messages for words in _NOT_RIGHT):
            return Signature(SignatureState.BAD, reason="its signature does not fit it, or its key was revoked")
        return _uncheckable(f"its signature by an ssh key cannot be checked: {last_line(messages)}")
    principal, fingerprint = good[1] or "", good[2]
    if verified and principal:
        return Signature(SignatureState.GOOD, fingerprint, principal)
    reason = "its key has expired" if "has expired" in messages else "its key is none that you named"
    return Signature(SignatureState.UNKNOWN, fingerprint, reason=reason)


def _uncheckable(reason: str) -> Signature:
    return Signature(SignatureState.UNCHECKABLE, reason=reason)
