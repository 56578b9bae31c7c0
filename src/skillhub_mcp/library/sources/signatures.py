"""Who signed what was fetched: git verifies it, against the person's keys and their file of allowed signers.

A signature says who vouches for a commit, not that the commit is good. So the first signer is kept with the skill, and
another one, or none, is told at the next update.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import IntegrityFailed
from skillhub_mcp.file_modes import changeable_by_others
from skillhub_mcp.harmless import in_line
from skillhub_mcp.library.sources.git import GitRepository, last_line
from skillhub_mcp.library.sources.git_refs import TAGS
from skillhub_mcp.library.sources.git_tree import GitTree

ALLOWED_SIGNERS = "~/.skillhub/allowed_signers"

_MAX_FILE_BYTES = 1024 * 1024
_KINDS = {
    b"-----BEGIN SSH SIGNATURE-----": "ssh",
    b"-----BEGIN PGP SIGNATURE-----": "openpgp",
    b"-----BEGIN PGP MESSAGE-----": "openpgp",
    b"-----BEGIN SIGNED MESSAGE-----": "x509",
}
_BEGIN = re.compile(rb"^(?:gpgsig(?:-sha256)? )?(-----BEGIN [A-Z0-9 ]{1,40}-----)$", re.MULTILINE)
_SSH_GOOD = re.compile(r'^Good "git" signature (?:for (.+) )?with (?:\S+) key (SHA256:[A-Za-z0-9+/=]+)$', re.MULTILINE)
_STATUS = re.compile(r"^\[GNUPG:\] ([A-Z_]+)(?: (.*))?$", re.MULTILINE)
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

    Keys are those of the person's keyring, of their git's `gpg.ssh.allowedSignersFile` and of `allowed_signers`, a file
    as ssh-keygen(1) describes. Raises SourceUnreachable where git itself fails.
    """
    git, ref = tree.repository, tree.ref
    if ref.object_id != ref.commit:
        tag = git.run("cat-file", "tag", ref.object_id)
        if (kind := _kind_of(tag)) is not None:
            found = _verified(git, ("verify-tag", "--raw", ref.object_id), kind, allowed_signers)
            return _as_this_tag(found, tag, ref.name)
    kind = _kind_of(git.run("cat-file", "commit", ref.commit).partition(b"\n\n")[0])
    if kind is None:
        return Signature(SignatureState.UNSIGNED, reason="it is not signed")
    return _verified(git, ("verify-commit", "--raw", ref.commit), kind, allowed_signers)


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
            expected="one of your keys or allowed signers (SKILLHUB_REQUIRE_SIGNED=1)",
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


def _kind_of(signed: bytes) -> str | None:
    begun = _BEGIN.findall(signed)
    return _KINDS.get(begun[-1], "") if begun else None


def _as_this_tag(found: Signature, tag: bytes, name: str) -> Signature:
    """Refuse a tag that was signed under another name: an old version that is shown as a new one."""
    signed = _TAG_NAME.search(tag.partition(b"\n\n")[0])
    signed_name = signed[1].decode("utf-8", "replace") if signed else ""
    if signed_name == name.removeprefix(TAGS):
        return found
    return Signature(SignatureState.BAD, reason=f"it was signed as the tag {signed_name!r}")


def _verified(git: GitRepository, arguments: Sequence[str], kind: str, allowed_signers: str) -> Signature:
    settings = {}
    if kind == "x509":
        return _uncheckable("it is signed with an X.509 certificate, as gitsign does, which is not checked here")
    if kind not in ("ssh", "openpgp"):
        return _uncheckable("it is signed in a way that is not known here")
    if kind == "ssh":
        signers = expand_home(allowed_signers)
        exposure = changeable_by_others(signers)
        if exposure is not None:
            return _uncheckable(f"{allowed_signers} is not used: {exposure.reason}; {exposure.mend}")
        settings["gpg.ssh.allowedSignersFile"] = _joined(git, signers)
    _, outcome = git.try_run(*arguments, settings=settings)
    read = read_ssh if kind == "ssh" else read_openpgp
    return read(outcome.messages, verified=outcome.exit_code == 0)


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


def read_openpgp(messages: str, *, verified: bool) -> Signature:
    """Return what `git verify-commit --raw` says of a signature by OpenPGP; `verified` is that it exited with 0."""
    told = {name: rest or "" for name, rest in _STATUS.findall(messages)}
    if "BADSIG" in told or "REVKEYSIG" in told:
        return Signature(SignatureState.BAD, reason="its signature does not fit it, or its key was revoked")
    valid = told.get("VALIDSIG", "").split()
    if valid and (good := told.get("GOODSIG") or told.get("EXPKEYSIG") or told.get("EXPSIG")) is not None:
        # The last of its words is the whole key's fingerprint, the first that of the part that signed.
        principal = in_line(good.partition(" ")[2])
        if verified and "GOODSIG" in told:
            return Signature(SignatureState.GOOD, valid[-1], principal)
        return Signature(
            SignatureState.UNKNOWN, valid[-1], reason="its key, or the signature, has expired or is not trusted"
        )
    if "NO_PUBKEY" in told or "ERRSIG" in told:
        key = (told.get("ERRSIG", "").split() or [told.get("NO_PUBKEY", "")])[-1]
        return _uncheckable(f"its OpenPGP key is not in your keyring: gpg --recv-keys {in_line(key)}")
    return _uncheckable(f"its OpenPGP signature cannot be checked: {last_line(messages)}")


def _uncheckable(reason: str) -> Signature:
    return Signature(SignatureState.UNCHECKABLE, reason=reason)
