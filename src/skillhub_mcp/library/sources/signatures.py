"""Who signed what was fetched: git verifies SSH signatures against the person's files of allowed signers.

The lock keeps the first signer, and an update by another signer, or by none, is refused.
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

    GOOD is valid, by a key that the person named; UNKNOWN is valid, by another key; BAD does not fit, or its key was
    revoked; UNCHECKABLE was not checked.
    """

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


def signature_of(tree: GitTree, allowed_signers: str = ALLOWED_SIGNERS) -> Signature:
    """Return what signs the tag that was asked for, or the commit if that is not signed.

    Known keys are those in git's `gpg.ssh.allowedSignersFile` and in `allowed_signers`. Raises SourceUnreachable.
    """
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
    """Raise IntegrityFailed for a bad signature, another signer than the lock's, or an unknown one if `required`.

    `locked` is the fingerprint and the principal of the lock; `accepted` accepts another. Pure.
    """
    shown = in_line(found.reason)
    if found.fingerprint:
        shown = _named(found.fingerprint, found.principal)
    elif found.state is SignatureState.UNSIGNED:
        shown = "no signature"
    if found.state is SignatureState.BAD:
        hint = "do not use it; tell its author"
        raise IntegrityFailed(f"the signature of {subject}", expected="one that fits", found=shown, hint=hint)
    if required and found.state is not SignatureState.GOOD:
        hint = f"add the signer's key to {ALLOWED_SIGNERS}, once you know whose it is"
        raise IntegrityFailed(
            f"the signer of {subject}",
            expected="one of your allowed signers (SKILLHUB_REQUIRE_SIGNED=1)",
            found=shown,
            hint="ask its author to sign it" if found.state is SignatureState.UNSIGNED else hint,
        )
    if locked is None or not locked[0] or accepted or found.fingerprint == locked[0]:
        return
    # Another key that the person has listed for the same signer, and not for a pattern of signers.
    is_one = bool(locked[1]) and not set("*?,!") & set(locked[1])
    if not (is_one and found.state is SignatureState.GOOD and found.principal == locked[1]):
        hint = "ask its author; --accept-signer accepts it from now on"
        raise IntegrityFailed(f"the signer of {subject}", expected=_named(*locked), found=shown, hint=hint)


def _named(fingerprint: str, principal: str) -> str:
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
