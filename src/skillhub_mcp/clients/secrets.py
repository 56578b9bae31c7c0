"""Values that look like secrets, which no file of a client gets."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

_NAMES = re.compile(
    r"(?:^|_)(?:API_?KEYS?|KEY|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|PAT)$", re.IGNORECASE
)
# The beginnings that providers give their keys so that they are recognised, and JSON web tokens.
_VALUES = re.compile(
    r"(?:sk|pk|rk)-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|xox[abposr]-[\w-]{10,}"
    r"|AKIA[A-Z0-9]{12,}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
)


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable's name or value says that it is a secret. An empty value is none."""
    if not value:
        return False
    return _NAMES.search(name) is not None or _VALUES.search(value) is not None or has_credentials(value)


def has_credentials(url: str) -> bool:
    """Whether an address contains a password, or a parameter that looks like a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme and parts.netloc and parts.password:
        return True
    return any(looks_secret(name, value) for name, value in parse_qsl(parts.query) if parts.netloc)
