"""Signatures of commits and tags, verified by git with real keys."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.library.sources.repositories import ENVIRONMENT, Repository

from skillhub_mcp.errors import IntegrityFailed
from skillhub_mcp.library.sources.git import GitOptions
from skillhub_mcp.library.sources.git_tree import Signature, SignatureState, check_signer, open_git, signature_of
from skillhub_mcp.library.sources.source import parse_source

needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed here")

ADA, BOB = "ada@example.org", "bob@example.org"
KEY = "SHA256:" + "a" * 43


class Signed:
    """A repository with commits and tags that Ada signed, and her key."""

    def __init__(self, directory: Path) -> None:
        self.key = directory / "key"
        subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(self.key)), check=True)
        self.public_key = self.key.with_suffix(".pub").read_text("utf-8").strip()
        shown = subprocess.run(("ssh-keygen", "-lf", str(self.key)), check=True, capture_output=True, text=True)
        self.fingerprint = shown.stdout.split()[1]
        self.repository = Repository(directory / "signed.git")
        self.plain = self.repository.commit({"SKILL.md": "plain"})
        settings = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={self.key}")
        git = self.repository.git
        self.commit = git(*settings, "commit-tree", "-S", "-m", "signed", f"{self.plain}^{{tree}}")
        git("update-ref", "refs/heads/signed", self.commit)
        git(*settings, "tag", "-s", "-m", "signed", "v1", self.plain)
        git("update-ref", "refs/tags/v2", self.repository.id_of("v1"))
        signed = git("cat-file", "commit", self.commit)
        self._add("tampered", signed.replace("\n\nsigned", "\n\nother"))
        self._add("x509", signed.replace("SSH SIGNATURE", "SIGNED MESSAGE"))
        self._add("openpgp", signed.replace("SSH SIGNATURE", "PGP SIGNATURE"))
        self._add("strange", signed.replace("SSH SIGNATURE", "STRANGE THING"))
        self._add("reported", git("cat-file", "commit", self.plain) + "\n-----BEGIN SSH SIGNATURE-----\n")

    def _add(self, branch: str, text: str) -> None:
        made = self.repository.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{text}\n".encode())
        self.repository.git("update-ref", f"refs/heads/{branch}", made)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    return Signed(tmp_path_factory.mktemp("signed"))


def seen(signed: Signed, ref: str, signers: Path | None = None, environment: dict[str, str] | None = None) -> Signature:
    options = GitOptions({**ENVIRONMENT, **(environment or {})}, 60.0)
    tree = open_git(parse_source(f"{signed.repository.url}#{ref}"), options)
    try:
        return signature_of(tree, str(signers or signed.key.with_name("none")))
    finally:
        tree.close()


def allowed(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    path.chmod(0o600)
    return path


@needs_ssh_keygen
@pytest.mark.parametrize("ref", ["signed", "v1"])
def test_commits_and_tags_signed_with_a_listed_key_are_good(signed: Signed, tmp_path: Path, ref: str) -> None:
    signers = allowed(tmp_path / "signers", "# mine", f'{ADA} namespaces="git" {signed.public_key}')
    assert seen(signed, ref, signers) == Signature(SignatureState.GOOD, signed.fingerprint, ADA)


@needs_ssh_keygen
def test_gits_own_allowed_signers_count_too(signed: Signed, tmp_path: Path) -> None:
    theirs = allowed(tmp_path / "theirs", f"{ADA} {signed.public_key}")
    settings = allowed(tmp_path / "gitconfig", '[gpg "ssh"]', f"allowedSignersFile = {theirs}")
    found = seen(signed, "signed", environment={"GIT_CONFIG_GLOBAL": str(settings)})
    assert (found.state, found.principal) == (SignatureState.GOOD, ADA)


@needs_ssh_keygen
def test_unsigned_unknown_and_bad_signatures_are_distinguished(signed: Signed, tmp_path: Path) -> None:
    signers = allowed(tmp_path / "signers", f"{ADA} {signed.public_key}")
    assert seen(signed, "main", signers).state is SignatureState.UNSIGNED
    # A commit message that looks like a signature is not one.
    assert seen(signed, "reported", signers).state is SignatureState.UNSIGNED
    unknown = seen(signed, "signed")
    assert (unknown.state, unknown.fingerprint, unknown.principal) == (SignatureState.UNKNOWN, signed.fingerprint, "")
    tampered = seen(signed, "tampered", signers)
    assert (tampered.state, tampered.fingerprint) == (SignatureState.BAD, "")


@needs_ssh_keygen
@pytest.mark.parametrize("ref", ["openpgp", "x509", "strange"])
def test_an_unsupported_signature_is_reported_as_unchecked(signed: Signed, ref: str) -> None:
    found = seen(signed, ref)
    assert (found.state, found.fingerprint) == (SignatureState.UNCHECKABLE, "")
    assert found.reason.startswith("signed in a way that SkillHub does not check")


@needs_ssh_keygen
def test_a_signed_tag_under_another_name_is_bad(signed: Signed, tmp_path: Path) -> None:
    """Otherwise a repository's host could present an old signed version as a new one."""
    signers = allowed(tmp_path / "signers", f"{ADA} {signed.public_key}")
    found = seen(signed, "v2", signers)
    assert (found.state, found.fingerprint) == (SignatureState.BAD, "")
    assert "'v1'" in found.reason


@needs_ssh_keygen
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no modes")
def test_signers_files_that_others_can_write_are_not_used(signed: Signed, tmp_path: Path) -> None:
    signers = allowed(tmp_path / "signers", f"{ADA} {signed.public_key}")
    signers.chmod(0o666)
    found = seen(signed, "signed", signers)
    assert found.state is SignatureState.UNCHECKABLE
    assert "chmod" in found.reason


GOOD = Signature(SignatureState.GOOD, KEY, ADA)
OTHER = Signature(SignatureState.GOOD, "SHA256:other", BOB)
UNSIGNED = Signature(SignatureState.UNSIGNED, reason="it is not signed")
GITSIGN = Signature(SignatureState.UNCHECKABLE, reason="signed in a way that SkillHub does not check")
BAD = Signature(SignatureState.BAD, reason="its signature does not fit it")
UNKNOWN = Signature(SignatureState.UNKNOWN, KEY)


@pytest.mark.parametrize("found", [GOOD, OTHER, UNSIGNED, GITSIGN, UNKNOWN])
def test_the_first_signer_and_an_accepted_one_pass(found: Signature) -> None:
    check_signer("pdf", found)
    check_signer("pdf", found, locked=("", ""))
    check_signer("pdf", found, locked=("SHA256:x", "x"), accepted=True)


@pytest.mark.parametrize("found", [OTHER, UNSIGNED, GITSIGN, Signature(SignatureState.UNKNOWN, "SHA256:other", ADA)])
def test_a_different_or_missing_signer_is_refused(found: Signature) -> None:
    with pytest.raises(IntegrityFailed) as refused:
        check_signer("pdf", found, locked=(KEY, ADA))
    assert refused.value.code == "INTEGRITY_FAILED"
    assert refused.value.facts["expected"] == f"{ADA} ({KEY})"
    assert "--accept-signer" in str(refused.value.hint)


def test_the_locked_signer_passes_with_any_of_their_listed_keys() -> None:
    check_signer("pdf", GOOD, locked=(KEY, ADA))
    check_signer("pdf", UNKNOWN, locked=(KEY, ADA))
    check_signer("pdf", Signature(SignatureState.GOOD, "SHA256:new", ADA), locked=(KEY, ADA))
    with pytest.raises(IntegrityFailed):
        check_signer("pdf", Signature(SignatureState.GOOD, "SHA256:new", "*@h"), locked=(KEY, "*@h"))


@pytest.mark.parametrize("found", [UNSIGNED, GITSIGN, UNKNOWN])
def test_required_signatures_need_a_known_signer(found: Signature) -> None:
    with pytest.raises(IntegrityFailed, match="SKILLHUB_REQUIRE_SIGNED"):
        check_signer("pdf", found, accepted=True, required=True)
    check_signer("pdf", GOOD, required=True)


def test_a_bad_signature_is_refused_even_if_accepted() -> None:
    with pytest.raises(IntegrityFailed, match="does not fit"):
        check_signer("pdf", BAD, accepted=True)
