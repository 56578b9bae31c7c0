"""An HTTP server that would be open unintentionally does not start, and the hint says how to fix it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hubs import settings_from

from skillhub_mcp.bootstrap.server import http_options
from skillhub_mcp.errors import InvalidSetting, PolicyUnreadable
from skillhub_mcp.server.http.app import HttpOptions

TOKEN = {"SKILLHUB_TOKEN": "a token that nobody guesses"}
RUN = {"SKILLHUB_ENABLE_RUN": "1", "--enable-run-over-http": "1"}
ANONYMOUS = {"--allow-anonymous": "1"}
ISSUER = {"SKILLHUB_JWT_ISSUER": "https://issuer.example.com", "SKILLHUB_JWT_AUDIENCE": "skills"}


def options(host: str = "127.0.0.1", **environment: str) -> HttpOptions:
    settings = settings_from(environment)
    return http_options(settings, host=host, port=0)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_loopback_addresses_need_no_token(host: str) -> None:
    assert options(host).auth is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", ""])
def test_other_machines_need_a_token_unless_anonymous_clients_are_allowed(host: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        options(host)
    assert caught.value.setting == "--host"
    assert caught.value.hint == "set SKILLHUB_TOKEN, or pass --allow-anonymous if access is restricted by other means"
    assert options(host, **TOKEN).auth is not None
    assert options(host, **ISSUER).auth is not None
    assert options(host, **ANONYMOUS).auth is None


def test_commands_over_http_need_a_token_unless_anonymous_clients_are_allowed() -> None:
    with pytest.raises(InvalidSetting, match="allows anyone who can reach the server to run commands"):
        options(**RUN)
    assert options(**RUN, **TOKEN).auth is not None
    assert options(**RUN, **ANONYMOUS).auth is None
    assert options(SKILLHUB_ENABLE_RUN="1").auth is None


def test_several_workers_keep_no_sessions() -> None:
    assert options(**{"--workers": "2"}).stateless
    assert not options().stateless


def test_an_unusable_tokens_file_is_reported_at_start(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    for written, reason in ((None, "does not exist"), ("{", "is not JSON"), ("{}", 'with "format": 1')):
        if written is not None:
            path.write_text(written, encoding="utf-8")
        with pytest.raises(PolicyUnreadable, match=reason):
            options(SKILLHUB_TOKENS_FILE=str(path), **TOKEN)


@pytest.mark.parametrize(
    ("environment", "setting", "reason"),
    [
        ({"SKILLHUB_JWT_ISSUER": "https://i.example.com"}, "SKILLHUB_JWT_ISSUER", "requires SKILLHUB_JWT_AUDIENCE"),
        ({"SKILLHUB_JWT_AUDIENCE": "skills"}, "SKILLHUB_JWT_AUDIENCE", "requires SKILLHUB_JWT_ISSUER"),
        ({"SKILLHUB_JWT_JWKS": "https://i.example.com/k"}, "SKILLHUB_JWT_JWKS", "requires SKILLHUB_JWT_ISSUER"),
        ({**ISSUER, "SKILLHUB_JWT_JWKS": "http://192.0.2.1/k"}, "SKILLHUB_JWT_JWKS", "must start with https://"),
        ({**ISSUER, "SKILLHUB_JWT_ISSUER": "http://192.0.2.1"}, "SKILLHUB_JWT_ISSUER", "must start with https://"),
    ],
)
def test_an_incomplete_jwt_configuration_is_refused(environment: dict[str, str], setting: str, reason: str) -> None:
    with pytest.raises(InvalidSetting, match=reason) as caught:
        options(**TOKEN, **environment)
    assert caught.value.setting == setting


def test_jwt_keys_default_to_the_issuer_s_well_known_url() -> None:
    def jwks(**environment: str) -> str:
        auth = options(**environment).auth
        assert auth is not None
        assert auth.jwt is not None
        return auth.jwt.jwks

    assert jwks(**ISSUER) == "https://issuer.example.com/.well-known/jwks.json"
    assert jwks(**ISSUER, SKILLHUB_JWT_JWKS="http://127.0.0.1:8080/keys") == "http://127.0.0.1:8080/keys"


def test_the_host_and_origin_of_the_public_url_are_allowed() -> None:
    made = options(SKILLHUB_PUBLIC_URL="https://skills.example.com:8443/team/mcp", SKILLHUB_ALLOWED_HOSTS="other")
    assert list(made.allowed_hosts) == ["other", "skills.example.com"]
    assert list(made.allowed_origins) == ["https://skills.example.com:8443"]


def test_the_token_is_not_in_the_repr_of_options(tmp_path: Path) -> None:
    made = options(**TOKEN)
    assert TOKEN["SKILLHUB_TOKEN"] not in repr(made)
