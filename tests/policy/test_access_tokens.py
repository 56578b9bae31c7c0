"""Tokens: stored as hashes, each with a filter that an invalid file never widens."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.policy.access_tokens import (
    Token,
    Tokens,
    digest_of,
    filter_of,
    make_token,
    parse_tokens,
    tokens_text,
)
from skillhub_mcp.policy.files import TOKENS
from skillhub_mcp.policy.visibility import Visibility

DIGEST = "0" * 64
ONE: dict[str, Any] = {"name": "ci", "sha256": DIGEST, "skills": ["a"], "categories": ["b"], "created": "2026-11-21"}


def written(*tokens: object, **rest: object) -> str:
    return json.dumps({"format": 1, "tokens": list(tokens), **rest})


def test_tokens_are_random_and_stored_as_hashes() -> None:
    (first, secret), (_, other) = (make_token("ci", Visibility()) for _ in range(2))
    assert secret != other
    assert len(secret) >= 43
    # Scanners for leaked secrets know it by this.
    assert secret.startswith("skillhub_")
    assert first.digest == digest_of(secret)
    assert secret not in tokens_text(Tokens((first,)))
    assert first.digest not in repr(first)


def test_written_tokens_are_read_back() -> None:
    narrowed = Token("ci", DIGEST, Visibility(frozenset({"b", "a"}), frozenset({"docs"})), "2026-11-21")
    free = Token("all", "1" * 64, Visibility(), "2026-11-21", expires="2027-01-31", group="team")
    kept = Tokens((narrowed, free))
    assert parse_tokens(tokens_text(kept)) == kept
    assert kept.by_digest == {DIGEST: narrowed, "1" * 64: free}
    assert kept.without("ci") == Tokens((free,))
    assert kept.without("nobody") == kept
    with pytest.raises(BadJson, match="there is a token named 'all' already"):
        kept.with_token(free)


@pytest.mark.parametrize(("given", "stored"), [("Docs", "docs"), (" Data  Work ", "data work"), ("ＤＯＣＳ", "docs")])
def test_categories_are_folded(given: str, stored: str) -> None:
    assert filter_of(categories=[given]).categories == frozenset({stored})
    assert parse_tokens(written({**ONE, "categories": [given]})).tokens[0].visibility.categories == frozenset({stored})


@pytest.mark.parametrize("name", ["", "-x", "a b", "a\n", "é", "x" * 65, "../x"])
def test_an_invalid_token_name_is_rejected(name: str) -> None:
    with pytest.raises(BadJson, match="is not a name of 1 to 64"):
        make_token(name, Visibility())
    with pytest.raises(BadJson, match="is not a name of 1 to 64"):
        parse_tokens(written({**ONE, "name": name}))


@pytest.mark.parametrize("key", ["skills", "categories"])
@pytest.mark.parametrize("value", [[], [""], [" "], "a", [1], {}, None, 0, False])
def test_an_invalid_filter_never_means_every_skill(key: str, value: object) -> None:
    with pytest.raises(BadJson, match=f"{key} must be a list of at least one name"):
        filter_of(**{key: value})
    with pytest.raises(BadJson, match=rf"tokens\[1\]: {key} must be a list"):
        parse_tokens(written({**ONE, "name": "x", "sha256": "1" * 64}, {**ONE, key: value}))


def test_a_filter_keeps_names_and_folds_categories() -> None:
    assert filter_of([" PDF Tools "], ["Docs"]) == Visibility(frozenset({"PDF Tools"}), frozenset({"docs"}))
    assert not filter_of().limits


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1 is not JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        ("[]", 'it must be an object with "format": 1'),
        (written(format=2), 'it must be an object with "format": 1'),
        (written(more=1), 'it must be an object with "format": 1'),
        ('{"format": 1, "tokens": {}}', "tokens must be a list"),
        (written("x"), r"tokens\[0\] must be an object"),
        (written({**ONE, "skill": ["a"]}), r"tokens\[0\] has the unknown key 'skill'"),
        (written({**ONE, "sha256": "F" * 64}), "64 hexadecimal digits"),
        *((written({**ONE, "sha256": "0" * 63 + end}), "64 hexadecimal digits") for end in ("", "00", "0\n", "g")),
        (written({**ONE, "name": 1}), "name, created, expires and group must be text"),
        *((written({**ONE, "expires": day}), "is not a day such as") for day in ("soon", "20270131")),
        (written({**ONE, "expires": None}), "name, created, expires and group must be text"),
        (written({**ONE, "group": "a b"}), "is not a group of 1 to 64"),
        (written(ONE, {**ONE, "sha256": "1" * 64}), "two tokens have the same name"),
        (written(ONE, {**ONE, "name": "other"}), "two tokens have the same hash"),
        (written(ONE).replace('"skills": ["a"]', '"skills": ["a"], "skills": ["b"]'), "appears twice"),
    ],
)
def test_invalid_tokens_are_rejected(text: str, reason: str) -> None:
    with pytest.raises(BadJson, match=reason):
        parse_tokens(text)


def test_the_token_file_is_private_and_read_again_after_a_change(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tokens.json"
    with pytest.raises(PolicyUnreadable, match="does not exist"):
        TOKENS.file(str(path), required=True).read()
    token, _ = make_token("ci", Visibility())
    TOKENS.change(str(path), lambda tokens: tokens.with_token(token))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    file = TOKENS.file(str(path))
    assert file.read() == Tokens((token,))
    assert file.read() is file.read()
    TOKENS.change(str(path), lambda tokens: tokens.without("ci"))
    assert file.read() == Tokens()
    path.write_text("{", encoding="utf-8")
    with pytest.raises(PolicyUnreadable) as caught:
        file.read()
    assert (caught.value.hint or "").endswith("every request is refused until then")
    with pytest.raises(PolicyUnreadable):
        TOKENS.change(str(path), lambda tokens: tokens)
    assert path.read_text(encoding="utf-8") == "{"


def test_a_token_may_run_commands_only_if_it_says_so() -> None:
    made, _ = make_token("ci", Visibility())
    assert not made.may_run
    kept, _ = make_token("runner", Visibility(), may_run=True)
    assert parse_tokens(tokens_text(Tokens((made, kept)))).tokens == (made, kept)
    assert ("may_run" in made.as_json(), kept.as_json()["may_run"]) == (False, True)
    odd_values: tuple[object, ...] = ("true", 1, None, [])
    for odd in odd_values:
        with pytest.raises(BadJson, match=r"tokens\[0\]: may_run must be true or false"):
            parse_tokens(written({**ONE, "may_run": odd}))
