"""URLs without their secrets, in whatever text they stand."""

from __future__ import annotations

import pytest

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.redaction import redacted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://h/x.zip?token=abc", "https://h/x.zip?***"),
        ("https://h/x.zip?ref=v1&private_token=abc#:sub@pdf", "https://h/x.zip?ref=v1&***#:sub@pdf"),
        ("https://h/x?X-Amz-Signature=a&X-Amz-Date=b", "https://h/x?***"),
        ("https://h/x?abc", "https://h/x?***"),
        ("https://h/x?ref=main&path=a/b", "https://h/x?ref=main&path=a/b"),
        ("https://me:abc@h/x", "https://h/x"),
        ("https://abc@h/x", "https://h/x"),
        ("https://me:a@b@h/x", "https://h/x"),
        ("https://me:a/b?c@h/x", "https://h/x"),
        ("https://h:8443/a@b", "https://h:8443/a@b"),
        ("https://[::1]:80/a@b", "https://[::1]:80/a@b"),
        ("ssh://git:abc@h/o/r", "ssh://git@h/o/r"),
        ("git+ssh://git@h/o/r", "git+ssh://git@h/o/r"),
        ("s3://key:abc@bucket/p", "s3://bucket/p"),
        ("https//me:abc@h/x?k=1", "https//h/x?***"),
        ("git@h:o/r.git", "git@h:o/r.git"),
        ("owner/repo@skill", "owner/repo@skill"),
        ("skill://pdf@project/SKILL.md", "skill://pdf@project/SKILL.md"),
        ("get 'https://a@h/x?k=1', then \"http://h/y?k=2\"", "get 'https://h/x?***', then \"http://h/y?***\""),
        ("is it there? no", "is it there? no"),
    ],
)
def test_only_secrets_are_removed(text: str, shown: str) -> None:
    assert redacted(text) == shown
    assert redacted(shown) == shown


def test_no_error_contains_a_secret() -> None:
    url = "https://me:s3cret@h/x?token=s3cret"
    error = SourceUnreachable(url, f"leads to {url}", near=[url], hint=f"look at {url}")
    assert "s3cret" not in f"{error} {error.message} {error.hint} {error.facts}"
