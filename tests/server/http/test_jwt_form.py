"""Only what has the form of a JSON Web Token reaches the library that verifies one."""

from __future__ import annotations

import base64
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.server.http.jwt_form import Malformed, algorithm_of

HEADER = {"alg": "RS256", "kid": "k"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(("alg", "exp", "nbf", "iat", "x")), inner),
    max_leaves=5,
)


def part(content: object) -> str:
    written = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(written).decode().rstrip("=")


def token(header: object = HEADER, claims: object = None) -> str:
    return f"{part(header)}.{part({'sub': 'ann'} if claims is None else claims)}.c2ln"


@pytest.mark.parametrize("claims", [{}, {"exp": 1}, {"exp": 1.5, "nbf": 0, "iat": -3}, {"exp": None, "sub": "ä"}])
def test_a_tokens_algorithm_is_what_its_header_says(claims: object) -> None:
    assert algorithm_of(token(claims=claims)) == "RS256"


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "a.b",
        f"{token()}.x",
        "é.é.é",
        "\ud800.x.y",
        token(b"[" * 5_000),
        token(b'{"a":' * 5_000),
        token(b"\xff"),
        token([]),
        token({"alg": ["RS256"]}),
        token({}),
        token(claims=[]),
        token(claims=b'{"exp": Infinity}'),
        token(claims=b'{"exp": 1e400}'),
        token(claims=b'{"x": NaN}'),
        token(claims={"exp": 10**400}),
        token(claims=b'{"exp": ' + b"9" * 5_000 + b"}"),
        token(claims={"exp": "1"}),
        token(claims={"nbf": True}),
        token(claims=b'{"sub": "\\ud800"}'),
        token({**HEADER, "x": "a" * 20_000}),
    ],
)
def test_another_form_is_malformed(wrong: str) -> None:
    with pytest.raises(Malformed):
        algorithm_of(wrong)


@given(st.text() | st.builds(token, JSON | st.binary(), JSON | st.binary()))
def test_nothing_but_malformed_is_raised_whatever_comes(anything: str) -> None:
    with contextlib.suppress(Malformed):
        assert isinstance(algorithm_of(anything), str)
