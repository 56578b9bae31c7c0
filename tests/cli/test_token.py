"""`skillhub token`: create, list and revoke tokens."""

from __future__ import annotations

import json
import os
import stat
from datetime import datetime, timezone
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp.policy.access_tokens import digest_of
from skillhub_mcp.policy.files import TOKENS
from skillhub_mcp.settings import TOKEN_USES
from skillhub_mcp.usage import TokenUses


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_a_new_token_is_printed_once_and_stored_as_a_hash(skillhub: Skillhub, file: Path) -> None:
    done = skillhub("token", "new", "ci", "--skills", "pdf-reader, csv", "--file", file)
    assert done.code == 0
    (secret,) = done.out.splitlines()
    assert done.err.endswith(
        "ci is granted the skills csv, pdf-reader. The token is not stored: copy it now, to send as a bearer token.\n"
    )
    kept = file.read_text(encoding="utf-8")
    assert secret not in kept
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    tokens = TOKENS.file(str(file)).read()
    assert tokens is not None
    assert tokens.by_digest[digest_of(secret)].visibility.names == frozenset({"pdf-reader", "csv"})


def test_unknown_names_in_a_filter_are_warned_about(skillhub: Skillhub, file: Path, write_skill: SkillWriter) -> None:
    write_skill("pdf-reader", category="Docs")
    for number, (option, kind, typed, near) in enumerate(
        (
            ("--skills", "skill", "PDF-Reader,pdf-raeder", " (did you mean 'pdf-reader'?)"),
            ("--categories", "category", "docs,dosc", " (did you mean 'docs'?); there are docs"),
            ("--categories", "category", "walrus", "; there are docs"),
        )
    ):
        done = skillhub("token", "new", f"ci-{number}", option, typed, "--file", file)
        missing = typed.split(",")[-1]
        assert (done.code, done.err.splitlines()[0]) == (0, f"warning: no {kind} matches {missing!r}{near}")


def test_tokens_are_listed_without_their_secrets_and_revoked(skillhub: Skillhub, file: Path) -> None:
    where = {"SKILLHUB_TOKENS_FILE": str(file)}
    tried = skillhub("token", "new", "everything", "--dry-run", "--json", **where).json
    assert (tried["dry_run"], tried["token"], file.exists()) == (True, None, False)
    made = skillhub("token", "new", "everything", "--yes", "--json", **where).json
    assert set(made) == {"dry_run", "name", "created", "token"}
    narrowed = skillhub("token", "new", "docs", "--categories", "Docs,api", "--json", **where).json
    assert narrowed["categories"] == ["api", "docs"]
    created = made["created"]
    assert skillhub("token", **where).out == (
        f"everything  {created}  every skill, not used yet\ndocs  {created}  the categories api, docs, not used yet\n"
    )
    listed = skillhub("token", "--json", **where)
    assert [one["name"] for one in listed.json["tokens"]] == ["everything", "docs"]
    digests = [one["sha256"] for one in json.loads(file.read_text(encoding="utf-8"))["tokens"]]
    assert not [secret for secret in (made["token"], narrowed["token"], *digests) if secret in listed.out]
    assert skillhub("token", "revoke", "docs", **where).out == "revoked the token of docs\n"
    assert skillhub("token", "revoke", "everything", "--json", **where).json["revoked"][0]["name"] == "everything"
    assert skillhub("token", **where).out == "No tokens.\n"


def test_invalid_names_and_filters_are_refused_and_change_nothing(skillhub: Skillhub, file: Path) -> None:
    skillhub("token", "new", "ci", "--file", file)
    before = file.read_text(encoding="utf-8")
    for arguments, message in (
        (["new", "ci"], "the token cannot be made: there is a token named 'ci' already"),
        (["new", "c i"], "the token cannot be made: 'c i' is not a name of 1 to 64"),
        (["new", "x", "--skills", ","], "the token cannot be made: skills must be a list"),
        (["new", "x", "--categories", ""], "the token cannot be made: categories must be a list"),
        (["revoke", "cii"], "NAME 'cii' is not the name of a token"),
    ):
        done = skillhub("token", *arguments, "--file", file, "--json")
        assert (done.code, done.out) == (2, "")
        assert done.error["message"].startswith(message)
    assert done.error["hint"] == "did you mean 'ci'?"
    assert file.read_text(encoding="utf-8") == before


def test_an_invalid_file_is_not_overwritten(skillhub: Skillhub, file: Path) -> None:
    file.write_text('{"tokens": []}', encoding="utf-8")
    for arguments in (["new", "ci"], [], ["revoke", "ci"]):
        done = skillhub("token", *arguments, "--file", file, "--json")
        assert (done.code, done.error["code"], done.error["path"]) == (1, "POLICY_UNREADABLE", str(file))
    assert file.read_text(encoding="utf-8") == '{"tokens": []}'
    # The fix in the hint works.
    assert "removed it, `skillhub token new NAME` makes a new one" in done.error["hint"]
    file.unlink()
    assert skillhub("token", "new", "ci", "--file", file).code == 0


def test_a_group_is_revoked_together_and_expiry_last_use_and_rights_are_shown(skillhub: Skillhub, file: Path) -> None:
    where = {"SKILLHUB_TOKENS_FILE": str(file)}
    for name, day in (("ann", "2999-12-31"), ("ben", "2001-01-01")):
        assert skillhub("token", "new", name, "--group", "team", "--expires", day, **where).code == 0
    made = skillhub("token", "new", "cid", "--may-run", **where)
    assert made.err.startswith("cid is granted every skill and may run commands.")
    TokenUses(os.path.expanduser(TOKEN_USES)).record("ann")
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    ann, ben, cid = skillhub("token", **where).out.splitlines()
    assert "every skill and may run commands, not used yet" in cid
    assert ann.endswith(f"every skill, group team, until 2999-12-31, last used {today}")
    assert ben.endswith("every skill, group team, expired after 2001-01-01, not used yet")
    listed = skillhub("token", "--json", **where).json["tokens"]
    assert [(one["last_used"], one.get("may_run", False)) for one in listed] == [
        (today, False),
        (None, False),
        (None, True),
    ]
    assert skillhub("token", "revoke", "--group", "team", **where).out.splitlines() == [
        "revoked the token of ann",
        "revoked the token of ben",
    ]
    assert [one["name"] for one in skillhub("token", "--json", **where).json["tokens"]] == ["cid"]
    new = ("new", "dan")
    for wrong in ((*new, "--expires", "tomorrow"), (*new, "--group", "a b"), ("revoke", "--group", "x")):
        assert skillhub("token", *wrong, **where).code == 2
