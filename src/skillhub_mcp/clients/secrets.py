"""Recognise values that look like secrets, which are never written to a client's file."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from skillhub_mcp.redaction import REDACTED, redacted

_NAMES = re.compile(
    r"(?:^|[_-])(?:API[_-]?KEYS?|KEY|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|AUTHORIZATION)$",
    re.IGNORECASE,
)
# The prefixes of providers' keys, and of JSON in Base64 (web tokens).
_VALUES = re.compile(
    r"(?:sk|pk|rk)-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|xox[abposr]-[\w-]{10,}"
    r"|AKIA[A-Z0-9]{12,}|AIza[\w-]{30,}|eyJ[\w-]{13,}(?:\.[\w-]+)*"
)

_REFERENCE = re.compile(r"\$\w|\$?\{")
# A member of JSON or TOML: the text before its value, its name, the value, and the closing quote.
_MEMBER = re.compile(r'("?(?<![\w-])([\w-]+)"?\s*[:=]\s*")((?:[^"\\\r\n]|\\.)*)(")')


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable's name or value says that it is a secret."""
    if not value:
        return False
    return _NAMES.search(name) is not None or _VALUES.search(value) is not None or has_credentials(value)


def masked(text: str) -> str:
    """Return a text for display, with `***` for values that look like secrets."""

    def hidden(found: re.Match[str]) -> str:
        begin, name, value, end = found.groups()
        secret = looks_secret(name, value) and not _REFERENCE.search(value)
        return f"{begin}***{end}" if secret else found[0]

    return redacted(_VALUES.sub(REDACTED, _MEMBER.sub(hidden, text)))


def has_credentials(url: str) -> bool:
    """Whether an address contains a password, or a parameter that looks like a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.netloc and (parts.password or (parts.username and parts.scheme in ("http", "https"))):
        return True
    return any(looks_secret(name, value) for name, value in parse_qsl(parts.query) if parts.netloc)
