"""Authentication over HTTP: a bearer gets the skills of the token's filter, and others look missing."""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
import time
from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from joserfc import jwk, jwt
from mcp.shared.exceptions import MCPError
from tests.conftest import SkillWriter
from tests.server.bearers import add_token, bearer, bearing, issuer, knock
from tests.server.connections import Caller, listening, modes
from tests.server.skills_client import tool_lists, tool_uses

from skillhub_mcp.policy.access_tokens import Tokens, make_token
from skillhub_mcp.policy.files import TOKENS
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.server.http.auth import AuthOptions, HubTokenVerifier
from skillhub_mcp.server.http.rate_limit import TokenBuckets
from skillhub_mcp.usage import TokenUses, last_uses

pytestmark = pytest.mark.anyio

AUDIENCE = "https://skills.example.com/mcp"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


@pytest.fixture
def environment(trusting: dict[str, str], project: Path, file: Path, write_skill: SkillWriter) -> dict[str, str]:
    """Two skills for every set of tools, and a broken one."""
    place = project / ".agents" / "skills"
    for name, category in (("alpha", "open"), ("secret-plan", "closed")):
        write_skill(name, f"Does {name} things.", body=f"Body of {name}.\n", category=category, root=place)
    write_skill("broken-plan", frontmatter="name: broken-plan", root=place)
    del trusting["--allow-anonymous"]
    return {
        **trusting,
        "SKILLHUB_TOKEN": "the one token that has everything",
        "SKILLHUB_TOKENS_FILE": str(file),
    }


@pytest.mark.slow
def test_requests_without_a_valid_token_are_refused(environment: dict[str, str], file: Path) -> None:
    token = add_token(file, "ci")
    with listening(environment) as url:
        for wrong in (None, "x", token[:-1], f"{token}x", token.upper(), environment["SKILLHUB_TOKEN"] + "x"):
            assert knock(url, wrong).status_code == 401
        assert knock(url, authorization=f"Basic {token}").status_code == 401
        assert [knock(url, right).status_code for right in (token, environment["SKILLHUB_TOKEN"])] == [200, 200]
        # Without a token only the probes answer.
        for path in ("/.well-known/oauth-protected-resource/mcp", "/docs"):
            assert httpx2.get(url.removesuffix("/mcp") + path).status_code == 404


async def every_list(hub: Caller) -> dict[str, str]:
    """List skills in every way, and return each answer as text."""
    client = hub.client
    return {
        "instructions": client.instructions or "",
        **await tool_lists(hub, "things plan"),
        "list": (await hub.call("search_skills", query="")).text,
        "explained": (await hub.call("search_skills", query="secret plan", explain=True)).text,
        "build_index of a source": (await hub.call("build_index", source="project", mode="lenient")).text,
        "refresh_index": (await hub.call("refresh_index")).text,
        "context_inspect": (await hub.call("context_inspect")).text,
        "prompts": str((await client.list_prompts()).prompts),
        "session_context": await hub.prompt("session_context"),
        "resources": str((await client.list_resources()).resources),
        "templates": str((await client.list_resource_templates()).resource_templates),
        "error 0": (await hub.call("load_skill", skill_name="plan")).text,
        "error 1": (await hub.call("skill_load", name="plan")).text,
        "error 2": (await hub.call("skill_load", name="broken-plan")).text,
    }


@pytest.mark.slow
@modes
async def test_a_bearer_sees_only_their_own_skills(environment: dict[str, str], file: Path, mode: str) -> None:
    by_name, by_category = add_token(file, "one", skills={"alpha"}), add_token(file, "two", categories={"open"})
    answers = []
    with listening(environment) as url:
        # The caller with all skills asks first and last, so that any leaking cache is theirs.
        for token in (environment["SKILLHUB_TOKEN"], by_name, by_category, environment["SKILLHUB_TOKEN"]):
            async with bearer(url, token, mode) as hub:
                answers.append(await every_list(hub))
    everything, *narrowed, again = answers
    for lists in narrowed:
        for way, text in lists.items():
            if not way.startswith(("error", "templates")):
                assert "alpha" in text or way in ("instructions", "explained"), way
            assert "secret" not in text.replace("secret plan", ""), way
            assert "broken" not in text or way == "error 2", way
    for lists in (everything, again):
        assert {way for way, text in lists.items() if "secret-plan" in text} >= {
            *("search_skills", "list", "build_index", "available_skills", "skills_list", "skill_search"),
            *("context_inspect", "prompts", "session_context", "resources", "error 0", "error 1"),
        }
        assert "broken-plan" in lists["skills_list"]


async def tries(hub: Caller, name: str) -> dict[str, str]:
    """Request one skill in every way, and return each outcome."""
    texts = {way: answer.text for way, answer in (await tool_uses(hub, name)).items()}
    for way, asking in {
        "prompt": hub.prompt(name),
        "prompt skill": hub.prompt("skill", name=name),
        "resource": hub.client.read_resource(f"skill://project/{name}/SKILL.md"),
    }.items():
        try:
            texts[way] = str(await asking)
        except MCPError as error:
            texts[way] = error.error.message
    return {way: text.replace(name, "X") for way, text in texts.items()}


@pytest.mark.slow
@modes
async def test_a_foreign_skill_looks_missing_to_a_bearer(environment: dict[str, str], file: Path, mode: str) -> None:
    token = add_token(file, "one", skills={"alpha"}, may_run=True)
    with listening(environment) as url:
        async with bearer(url, token, mode) as hub:
            own, hidden, missing = [await tries(hub, name) for name in ("alpha", "secret-plan", "no-such-one")]
        async with bearer(url, environment["SKILLHUB_TOKEN"], mode) as hub:
            unhidden = await tries(hub, "secret-plan")
    assert hidden == missing
    assert len(own) == 10
    for way in own:
        assert "Body of X." in own[way], way
        assert "Body of X." in unhidden[way], way


@pytest.mark.slow
async def test_another_bearer_cannot_join_a_session(environment: dict[str, str], file: Path) -> None:
    one, other = add_token(file, "one"), add_token(file, "other")
    with listening(environment) as url:
        async with bearer(url, one) as hub:
            await hub.call("skill_load", name="alpha")
            handle = hub.handle
            assert "Body of" not in (await hub.call("skill_load", name="alpha")).text
        async with bearer(url, other) as hub:
            hub.handle = handle
            assert "Body of" in (await hub.call("skill_load", name="alpha")).text
        session = {"mcp-session-id": knock(url, one).headers["mcp-session-id"]}
        assert knock(url, one, **session).status_code != 404
        # The other client gets a new session, and no answer in this one.
        assert knock(url, other, **session).headers["mcp-session-id"] != session["mcp-session-id"]
        listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert httpx2.post(url, json=listed, headers={**bearing(other), **session}).status_code == 404


def test_a_token_is_accepted_until_its_last_day_and_its_use_is_recorded(tmp_path: Path) -> None:
    today, uses = date.today(), str(tmp_path / "uses.jsonl")  # noqa: DTZ011 - the server's day
    secrets = {}
    for name, day in (("ends-today", today), ("ended", today - timedelta(days=1))):
        token, secrets[name] = make_token(name, Visibility(), expires=day.isoformat())
        TOKENS.change(str(tmp_path / "tokens.json"), partial(Tokens.with_token, token=token))
    options = AuthOptions("", TOKENS.file(str(tmp_path / "tokens.json")), None, "", TokenUses(uses))
    verifier = HubTokenVerifier(options)
    for _ in range(2):
        assert asyncio.run(verifier.verify_token(secrets["ends-today"])) is not None
        assert asyncio.run(verifier.verify_token(secrets["ended"])) is None
    assert list(last_uses(uses)) == ["ends-today"]
    assert len(Path(uses).read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.slow
def test_revoked_and_new_tokens_take_effect_without_a_restart(
    environment: dict[str, str], file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = add_token(file, "first")
    with listening(environment) as url:
        assert knock(url, first).status_code == 200
        TOKENS.change(str(file), lambda tokens: tokens.without("first"))
        second = add_token(file, "second")
        assert knock(url, first).status_code == 401
        assert knock(url, second).status_code == 200
        good = file.read_text(encoding="utf-8")
        with caplog.at_level(logging.ERROR, logger="skillhub_mcp"):
            for bad in ("{", good.replace("second", "second\\u0000"), None):
                file.unlink()
                if bad is not None:
                    file.write_text(bad, encoding="utf-8")
                assert knock(url, second).status_code == 401
                assert knock(url, second).status_code == 401
            # The other token is not from a file.
            assert knock(url, environment["SKILLHUB_TOKEN"]).status_code == 200
        logged = [record.getMessage() for record in caplog.records if record.name.startswith("skillhub_mcp")]
        # Once for each token, at any number of requests.
        assert len(logged) == 3
        assert all(f"({file}): none of its tokens is accepted" in message for message in logged)
        file.write_text(good, encoding="utf-8")
        assert knock(url, second).status_code == 200


@pytest.mark.slow
def test_no_token_is_written_to_the_log(
    environment: dict[str, str], file: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    token = add_token(file, "one", skills={"alpha"})
    given = (token, environment["SKILLHUB_TOKEN"], f"{token[:-1]}!", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln")
    with caplog.at_level(logging.DEBUG), listening(environment) as url:
        for one in given:
            knock(url, one)
            httpx2.get(url.replace("/mcp", "/readyz"), headers=bearing(one))
    logged = caplog.text + "".join(capfd.readouterr())
    assert not [one for one in given if one in logged]


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock, so that no bucket refills."""
    monkeypatch.setattr("skillhub_mcp.server.http.auth.TokenBuckets", partial(TokenBuckets, clock=lambda: 0.0))


@pytest.mark.slow
def test_readiness_shows_strangers_the_state_only(environment: dict[str, str], file: Path) -> None:
    token = add_token(file, "one", skills={"alpha"})
    with listening(environment) as url, httpx2.Client(base_url=url.removesuffix("/mcp"), timeout=30) as http:
        assert http.get("/healthz", headers={"host": "10.0.0.5"}).status_code == 200
        while http.get("/readyz").status_code != 200:
            pass
        assert http.get("/readyz").json() == {"index": "ready"}
        # The count may follow the state with a delay.
        while "skills" not in (own := http.get("/readyz", headers=bearing(token)).json()):
            pass
        assert own["skills"] == 1
        everything = http.get("/readyz", headers=bearing(environment["SKILLHUB_TOKEN"])).json()
        assert (everything["skills"], everything["digest"][:7]) == (2, "sha256:")
        wrong = http.get("/readyz", headers=bearing("wrong"))
        assert (wrong.status_code, wrong.json()["error"]) == (401, "invalid_token")


@pytest.mark.slow
def test_guessing_tokens_is_rate_limited_without_locking_out_valid_ones(
    environment: dict[str, str], file: Path, stopped_clock: None
) -> None:
    token, unused = add_token(file, "one"), add_token(file, "two")
    with listening(environment) as url:
        assert knock(url, token).status_code == 200
        answers = [knock(url, f"guess {number}") for number in range(61)]
        assert [answer.status_code for answer in answers] == [401] * 60 + [429]
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert (
            answers[-1]
            .json()["error"]["message"]
            .startswith("RATE_LIMITED: This client sent more than 60 wrong tokens a minute. Wait 1 second")
        )
        # Valid tokens are not checked either: otherwise guessing could continue.
        assert knock(url, unused).status_code == 429
        assert knock(url, token).status_code == 200
        assert httpx2.get(url.replace("/mcp", "/readyz"), headers=bearing(unused)).status_code == 429
        assert httpx2.get(url.replace("/mcp", "/readyz")).status_code in (200, 503)
        assert httpx2.get(url.replace("/mcp", "/healthz")).status_code == 200


@pytest.fixture(scope="module")
def key() -> jwk.RSAKey:
    return jwk.RSAKey.generate_key(2048, parameters={"kid": "rsa"})


@pytest.fixture(scope="module")
def curve() -> jwk.ECKey:
    return jwk.ECKey.generate_key("P-256", parameters={"kid": "curve"})


class Signing:
    """An issuer's address, and tokens that it signs."""

    def __init__(self, url: str, key: jwk.RSAKey) -> None:
        self.url = url
        self.key = key

    def token(self, *, key: Any = None, algorithm: str = "RS256", kid: str = "rsa", **claims: Any) -> str:
        """Return a valid token with the given claims replaced; None removes a claim."""
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", "exp": int(time.time()) + 600}
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode({"alg": algorithm, "kid": kid}, given, key or self.key, algorithms=[algorithm])


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


@pytest.fixture
def signing(key: jwk.RSAKey, curve: jwk.ECKey) -> Iterator[Signing]:
    with issuer(key, curve) as url:
        yield Signing(url, key)


@pytest.fixture
def signed(environment: dict[str, str], signing: Signing, file: Path) -> dict[str, str]:
    del environment["SKILLHUB_TOKENS_FILE"]
    return {
        **environment,
        "SKILLHUB_JWT_ISSUER": signing.url,
        "SKILLHUB_JWT_AUDIENCE": AUDIENCE,
        "SKILLHUB_PUBLIC_URL": AUDIENCE,
    }


@pytest.mark.slow
def test_only_tokens_that_the_issuer_signed_for_this_server_are_accepted(
    signed: dict[str, str], signing: Signing, curve: jwk.ECKey
) -> None:
    public = signing.key.as_pem(private=False)
    head, body, signature = signing.token().split(".")
    other = jwk.RSAKey.generate_key(2048, parameters={"kid": "rsa"})
    # By hand: the library refuses to sign this.
    confused = base64url(b'{"alg": "HS256", "kid": "rsa"}') + f".{body}"
    confused += f".{base64url(hmac.digest(public, confused.encode(), 'sha256'))}"
    now = int(time.time())
    with listening(signed) as url:
        right = [
            signing.token(),
            signing.token(aud=["x", AUDIENCE]),
            signing.token(key=curve, algorithm="ES256", kid="curve"),
            signing.token(nbf=now - 5),
            signed["SKILLHUB_TOKEN"],
        ]
        assert [knock(url, token).status_code for token in right] == [200] * len(right)
        wrong = {
            "signed by another": signing.token(key=other),
            "of another issuer": signing.token(iss="https://evil.example.com"),
            "for another service": signing.token(aud="https://elsewhere.example.com"),
            "for nobody": signing.token(aud=None),
            "expired": signing.token(exp=now - 5),
            "without an end": signing.token(exp=None),
            "not yet": signing.token(nbf=now + 600),
            "its public key taken for a secret": confused,
            "unsigned": f"eyJhbGciOiJub25lIn0.{body}.",
            "changed": f"{head}.{body[:-4]}AAAA.{signature}",
            "an unknown key": signing.token(kid="nobody"),
        }
        assert {why: knock(url, token).status_code for why, token in wrong.items()} == dict.fromkeys(wrong, 401)


@pytest.mark.slow
def test_malformed_signed_tokens_are_refused_and_counted(
    signed: dict[str, str], signing: Signing, stopped_clock: None, caplog: pytest.LogCaptureFixture
) -> None:
    deep = base64url(b"[" * 5_000)
    wrong = {
        "a deep header": f"{deep}.e30.c2ln",
        "deep claims": f"{base64url(b'{}')}.{deep}.c2ln",
        "a header that is no object": f"{base64url(b'[]')}.e30.c2ln",
        "an end at infinity": signing.token(exp=float("inf")),
        "a beginning that is no number": signing.token(nbf=float("nan")),
        "an end after all times": signing.token(exp=10**400),
    }
    with listening(signed) as url:
        assert {why: knock(url, token).status_code for why, token in wrong.items()} == dict.fromkeys(wrong, 401)
        # They were counted, so the next ones are refused unchecked.
        rest = [knock(url, f"{deep}.e30.{number}").status_code for number in range(61 - len(wrong))]
        assert rest == [401] * (60 - len(wrong)) + [429]
    assert "Traceback" not in caplog.text


@pytest.mark.slow
def test_a_client_learns_where_to_get_a_token(signed: dict[str, str], signing: Signing) -> None:
    place = "/.well-known/oauth-protected-resource/mcp"
    with listening(signed) as url:
        metadata_url = f'resource_metadata="https://skills.example.com{place}"'
        assert metadata_url in knock(url).headers["www-authenticate"]
        assert metadata_url in knock(url, "wrong").headers["www-authenticate"]
        # The public address is allowed without a second setting.
        address = {"host": "skills.example.com", "origin": "https://skills.example.com"}
        metadata = httpx2.get(url.removesuffix("/mcp") + place, headers=address).json()
        assert metadata["resource"] == AUDIENCE
        # Exact: clients refuse an issuer with another spelling, even a slash.
        assert metadata["authorization_servers"] == [signing.url]
        assert knock(url, signing.token(), **address).status_code == 200
        assert knock(url, signing.token(), host="evil.example.com").status_code == 421


@pytest.mark.slow
@modes
async def test_a_bearer_runs_commands_only_with_a_token_that_allows_it(
    environment: dict[str, str], file: Path, mode: str
) -> None:
    # For a reader the answer is the same for every skill.
    tokens = {
        add_token(file, "reader"): (False, {"RUN_NOT_PERMITTED"}),
        add_token(file, "runner", may_run=True): (True, {None, "SKILL_NOT_FOUND"}),
        environment["SKILLHUB_TOKEN"]: (True, {None, "SKILL_NOT_FOUND"}),
    }
    with listening(environment) as url:
        for token, expected in tokens.items():
            async with bearer(url, token, mode) as hub:
                listed = [tool.name for tool in (await hub.client.list_tools()).tools]
                calls = [await hub.call("run_skill_command", skill_name=one, command="ls") for one in ("alpha", "none")]
                assert ("run_skill_command" in listed, {one.code for one in calls}) == expected


@pytest.mark.slow
async def test_a_signed_token_allows_commands_only_with_its_claim(signed: dict[str, str], signing: Signing) -> None:
    with listening(signed) as url:
        tokens = ((signing.token(), "RUN_NOT_PERMITTED"), (signing.token(skillhub_may_run=True), None))
        for token, code in tokens:
            async with bearer(url, token) as hub:
                assert (await hub.call("run_skill_command", skill_name="alpha", command="ls")).code == code
        assert knock(url, signing.token(skillhub_may_run="true")).status_code == 401
