"""The types of settings that pydantic does not have. Their validators raise ValueError with what is allowed."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import AnyHttpUrl, BeforeValidator, TypeAdapter, ValidationError

from skillhub_mcp.environment import expand_home

_URL = TypeAdapter(AnyHttpUrl)
# A name in percent signs is longer than a byte of a URL that is written that way.
_VARIABLE = re.compile(r"\$\{[^$}]*\}|%[A-Za-z_][A-Za-z0-9_]{2,}%")
# A comma in a value is part of it, unless another key follows.
_BETWEEN_OPTIONS = re.compile(r",(?=\s*[A-Za-z][A-Za-z0-9_.]*\s*=)")
_HOST_AND_PORT = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?")


def check_expanded(text: str) -> str:
    """Return a setting's text. Raises ValueError for a variable that a client did not expand, and for quotes."""
    if variable := _VARIABLE.search(text):
        raise ValueError(f"contains {variable[0]}, which was not expanded; write what the variable stands for")
    plain = text.strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'":
        raise ValueError("is in quotes, which belong to the value here; remove them")
    return text


def listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def is_bucket(text: str) -> bool:
    """Whether a value of SKILLHUB_DB_PATH is the URL of a bucket, and no path of this machine."""
    return re.match(r"(?:s3|gs|az)://[^/\s]", text.strip(), re.IGNORECASE) is not None


def local_path(text: str) -> str:
    if not text.strip() or "\0" in text or "://" in text:
        raise ValueError("must be a local path")
    return os.path.abspath(expand_home(text))


def _switch_word(text: str) -> str:
    word = text.strip().lower()
    return "1" if word in ("true", "yes", "on") else "0" if word in ("false", "no", "off") else word


def _database(text: str) -> str:
    # Whether a bucket is allowed depends on another setting.
    return text.strip().rstrip("/") if is_bucket(text) else local_path(text)


def _directories(text: str) -> tuple[str, ...]:
    found = tuple(expand_home(part) for part in text.split(os.pathsep) if part.strip())
    if not found or "\0" in text or "://" in text:
        raise ValueError("must name at least one directory, by a local path")
    return found


def _bearer_token(text: str) -> str:
    # A blank token would let everyone in.
    if text and not text.strip():
        raise ValueError("must not be blank; unset it to have no such token")
    return text.strip()


def _http_address(text: str) -> str:
    address = text.strip()
    try:
        return text and str(_URL.validate_python(address)) and address
    except ValidationError:
        raise ValueError("must be a URL that starts with http:// or https://") from None


def _mcp_address(text: str) -> str:
    address = _http_address(text)
    if address and not re.fullmatch(r"[^?#]+/mcp", address):
        raise ValueError("must be a URL that ends with /mcp")
    return address


def _ip_networks(text: str) -> tuple[str, ...] | None:
    networks = listed(text)
    if networks in (("auto",), ("none",)):
        return None if networks == ("auto",) else ()
    try:
        for network in networks:
            ipaddress.ip_network(network)
    except ValueError:
        allowed = "must be IP addresses or networks, such as 10.0.0.0/8, separated by commas, or auto or none"
        raise ValueError(allowed) from None
    return networks


def some_of(*allowed: str, default: tuple[str, ...] = ()) -> BeforeValidator:
    """Return the validator of a list of words, in the order of `allowed`; `all` stands for each."""

    def read(text: str) -> tuple[str, ...]:
        if not text:
            return default
        chosen = tuple(part.lower() for part in listed(text))
        # A value that names nothing, such as a comma, was meant to leave something out.
        if not chosen or not set(chosen) <= {*allowed, "all"}:
            raise ValueError("must be one or more of " + ", ".join(allowed) + ", separated by commas")
        return tuple(name for name in allowed if "all" in chosen or name in chosen)

    return BeforeValidator(read)


def _each(pattern: str, requirement: str) -> BeforeValidator:
    """Return the validator of a list whose items match `pattern`."""

    def read(text: str) -> tuple[str, ...]:
        items = listed(text)
        if not all(re.fullmatch(pattern, item) for item in items):
            raise ValueError(f"must be {requirement}, separated by commas")
        return items

    return BeforeValidator(read)


def _name_set(text: str) -> frozenset[str] | None:
    # A text without a name, such as a comma, is a filter that lets nothing pass, not the lack of one.
    return frozenset(listed(text)) if text else None


def _storage_options(text: str) -> Mapping[str, str]:
    options: dict[str, str] = {}
    for part in _BETWEEN_OPTIONS.split(text) if text.strip() else ():
        key, equals, value = (each.strip() for each in part.partition("="))
        if not (equals and re.fullmatch(r"[A-Za-z][A-Za-z0-9_.]*", key)):
            raise ValueError("must be key=value, separated by commas")
        options[key] = value
        # The storage's library ends the process over an endpoint that it cannot parse.
        if key.lower().endswith(("endpoint", "endpoint_url")):
            _http_address(value or "missing")
    return options


def _source_tokens(text: str) -> Mapping[str, str]:
    tokens: dict[str, str] = {}
    for part in listed(text):
        host, _, token = (each.strip() for each in part.partition("="))
        if not (token and _HOST_AND_PORT.fullmatch(host)):
            raise ValueError("must be host=token, such as skills.example.com=TOKEN, separated by commas")
        tokens[host.lower()] = token
    return tokens


T = TypeVar("T")
Word = Annotated[T, BeforeValidator(lambda text: text.strip().lower())]
Switch = Word[bool]
SWITCH_WORD = BeforeValidator(_switch_word)
Directories = Annotated[tuple[str, ...], BeforeValidator(_directories)]
OptionalDirectories = Annotated[
    tuple[str, ...], BeforeValidator(lambda text: tuple(map(os.path.abspath, _directories(text))) if text else ())
]
LocalPath = Annotated[str, BeforeValidator(local_path)]
OptionalPath = Annotated[str, BeforeValidator(lambda text: text and local_path(text))]
Database = Annotated[str, BeforeValidator(_database)]
Names = Annotated[tuple[str, ...], BeforeValidator(listed)]
NameSet = Annotated[frozenset[str] | None, BeforeValidator(_name_set)]
LowerNameSet = Annotated[frozenset[str] | None, BeforeValidator(lambda text: _name_set(text.lower()))]
CommandNames = Annotated[tuple[str, ...], _each(r"[^\s/\\]+", "command names without paths or arguments")]
BearerToken = Annotated[str, BeforeValidator(_bearer_token)]
HttpAddress = Annotated[str, BeforeValidator(_http_address)]
McpAddress = Annotated[str, BeforeValidator(_mcp_address)]
HostNames = Annotated[tuple[str, ...], _each(r"(?!\*\Z)[^/]+", "host names, such as skills.example.com")]
WebOrigins = Annotated[tuple[str, ...], _each(r"https?://[^\s/*]+", "origins, such as https://app.example.com")]
IpNetworks = Annotated[tuple[str, ...] | None, BeforeValidator(_ip_networks)]
StorageOptions = Annotated[Mapping[str, str], BeforeValidator(_storage_options)]
SourceTokens = Annotated[Mapping[str, str], BeforeValidator(_source_tokens)]
LogLevel = Annotated[
    Literal["DEBUG", "INFO", "WARN", "WARNING", "ERROR"], BeforeValidator(lambda text: text.strip().upper())
]
