"""The types of settings that pydantic does not have. Each function raises ValueError, which says what is allowed."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator

from skillhub_mcp.environment import expand_home

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")

LOWER = BeforeValidator(lambda text: text.strip().lower())
Switch = Annotated[bool, LOWER]


class NotExpanded(ValueError):
    """A value that a client or a shell passed on as it was written, with a variable or quotes in it."""

    hint: str

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


# A name in percent signs is longer than a byte of a URL that is written that way.
_VARIABLE = re.compile(r"\$\{[^$}]*\}|%[A-Za-z_][A-Za-z0-9_]{2,}%")


def check_expanded(text: str) -> str:
    """Return a setting's text. Raises NotExpanded if it holds a variable that was not replaced, or is in quotes."""
    variable = _VARIABLE.search(text)
    if variable is not None:
        reason = f"contains {variable[0]}, which was not expanded: nothing replaces variables in this value"
        raise NotExpanded(reason, "write what the variable stands for")
    plain = text.strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'":
        raise NotExpanded("is in quotes, which belong to the value here", "remove the quotes")
    return text


def bearer_token(text: str) -> str:
    # What was meant to be a token and is blank must not open the server to everybody.
    if text and not text.strip():
        raise ValueError("must not be blank; unset it to have no such token")
    return text.strip()


def http_address(text: str) -> str:
    address = text.strip()
    if text and not re.match(r"https?://[^\s/]", address):
        raise ValueError("must be a URL that starts with http:// or https://")
    return address


def mcp_address(text: str) -> str:
    address = http_address(text)
    if address and (not address.endswith("/mcp") or re.search(r"[?#]", address)):
        raise ValueError("must be a URL that ends with /mcp")
    return address


def ip_networks(text: str) -> tuple[str, ...] | None:
    networks = listed(text)
    if networks == ("auto",):
        return None
    if networks == ("none",):
        return ()
    try:
        for network in networks:
            ipaddress.ip_network(network)
    except ValueError:
        raise ValueError(
            "must be IP addresses or networks, such as 10.0.0.0/8, separated by commas, or auto or none"
        ) from None
    return networks


# `skills:/shared` are two directories, but nobody means a directory named `s3:`.
_ADDRESS = re.compile(
    r"(?:^|(?<=:))\s*((?:[a-z][a-z0-9.+-]+://|(?:s3(?:\+ddb)?|gs|gcs|az|abfss?|adl|oss|cos|hf|db|memory|file|https?):/)\S*)",
    re.IGNORECASE,
)


def _refuse_address(text: str) -> None:
    """Raise ValueError for an address of other storage: as a path it would be a directory with a colon."""
    found = _ADDRESS.search(text)
    if found is not None:
        raise ValueError(
            f"must be a local path, and {found[1]} is the address of other storage; mount or copy that, and set the "
            "path of the directory"
        )


def directories(text: str) -> tuple[str, ...]:
    found = tuple(expand_home(part) for part in text.split(os.pathsep) if part.strip())
    if not found or "\0" in text:
        raise ValueError("must name at least one directory")
    # The whole text, as the separator of directories is in every address.
    _refuse_address(text)
    return found


def optional_directories(text: str) -> tuple[str, ...]:
    return tuple(map(os.path.abspath, directories(text))) if text else ()


def local_path(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("must be a local path")
    _refuse_address(text)
    return os.path.abspath(expand_home(text))


def database(text: str) -> str:
    # Whether there may be a bucket depends on another setting.
    return text.strip().rstrip("/") if is_bucket(text) else local_path(text)


def is_bucket(text: str) -> bool:
    """Whether a value of SKILLHUB_DB_PATH is the URL of a bucket, and no path of this machine."""
    return re.match(r"(?:s3|gs|az)://[^/\s]", text.strip(), re.IGNORECASE) is not None


def optional_path(text: str) -> str:
    return local_path(text) if text else ""


def some_of(*allowed: str, default: tuple[str, ...] = ()) -> BeforeValidator:
    """Return the reader of a list of words, in the order of `allowed`; `all` stands for each."""

    def read(text: str) -> tuple[str, ...]:
        if not text:
            return default
        chosen = tuple(part.lower() for part in listed(text))
        # What names nothing, such as a comma, was meant to leave something out.
        if not chosen or not set(chosen) <= {*allowed, "all"}:
            raise ValueError("must be one or more of " + ", ".join(allowed) + ", separated by commas")
        return tuple(name for name in allowed if "all" in chosen or name in chosen)

    return BeforeValidator(read)


def log_level(text: str) -> str:
    value = text.strip().upper()
    return "WARNING" if value == "WARN" else value


def rerank(text: str) -> str:
    known = {"local": "local", **dict.fromkeys(_TRUE, "provider"), **dict.fromkeys(_FALSE, "off")}
    value = known.get(text.strip().lower())
    if value is None:
        raise ValueError("must be 0, 1 (a model of the provider) or local (SEARCH_RERANK_MODEL)")
    return value


def listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _each(pattern: str, requirement: str) -> BeforeValidator:
    """Return the reader of a list whose every item has the form of `pattern`."""

    def read(text: str) -> tuple[str, ...]:
        items = listed(text)
        if not all(re.fullmatch(pattern, item) for item in items):
            raise ValueError(f"must be {requirement}, separated by commas")
        return items

    return BeforeValidator(read)


def name_set(text: str) -> frozenset[str] | None:
    # A text without a name in it, such as a comma, is a filter that lets nothing pass, and not the lack of one.
    return frozenset(listed(text)) if text else None


def lower_name_set(text: str) -> frozenset[str] | None:
    names = name_set(text)
    return None if names is None else frozenset(name.lower() for name in names)


_ENDPOINT = re.compile(r"endpoint(?:_url)?\Z", re.IGNORECASE)
# A comma in a value is part of it, unless another key follows.
_BETWEEN_OPTIONS = re.compile(r",(?=\s*[A-Za-z][A-Za-z0-9_.]*\s*=)")


def storage_options(text: str) -> Mapping[str, str]:
    options: dict[str, str] = {}
    for part in _BETWEEN_OPTIONS.split(text) if text.strip() else ():
        key, equals, value = part.partition("=")
        if not (equals and re.fullmatch(r"[A-Za-z][A-Za-z0-9_.]*", key.strip())):
            raise ValueError("must be key=value, separated by commas")
        options[key.strip()] = value.strip()
        if _ENDPOINT.search(key.strip()) and not _is_address(value.strip()):
            raise ValueError("must have an address as its endpoint, such as https://s3.example.com:9000")
    return options


def _is_address(text: str) -> bool:
    """Whether a text is the URL of a server. The storage's library ends the process over a port that is none."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_HOST_AND_PORT = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?")


def source_tokens(text: str) -> Mapping[str, str]:
    tokens: dict[str, str] = {}
    for part in listed(text):
        host, _, token = (each.strip() for each in part.partition("="))
        if not (token and _HOST_AND_PORT.fullmatch(host)):
            raise ValueError("must be host=token, such as skills.example.com=TOKEN, separated by commas")
        tokens[host.lower()] = token
    return tokens


Directories = Annotated[tuple[str, ...], BeforeValidator(directories)]
OptionalDirectories = Annotated[tuple[str, ...], BeforeValidator(optional_directories)]
LocalPath = Annotated[str, BeforeValidator(local_path)]
OptionalPath = Annotated[str, BeforeValidator(optional_path)]
Database = Annotated[str, BeforeValidator(database)]
Names = Annotated[tuple[str, ...], BeforeValidator(listed)]
NameSet = Annotated[frozenset[str] | None, BeforeValidator(name_set)]
LowerNameSet = Annotated[frozenset[str] | None, BeforeValidator(lower_name_set)]
CommandNames = Annotated[tuple[str, ...], _each(r"[^\s/\\]+", "command names without paths or arguments")]
BearerToken = Annotated[str, BeforeValidator(bearer_token)]
HttpAddress = Annotated[str, BeforeValidator(http_address)]
McpAddress = Annotated[str, BeforeValidator(mcp_address)]
HostNames = Annotated[tuple[str, ...], _each(r"(?!\*\Z)[^/]+", "host names, such as skills.example.com")]
WebOrigins = Annotated[tuple[str, ...], _each(r"https?://[^\s/*]+", "origins, such as https://app.example.com")]
IpNetworks = Annotated[tuple[str, ...] | None, BeforeValidator(ip_networks)]
StorageOptions = Annotated[Mapping[str, str], BeforeValidator(storage_options)]
SourceTokens = Annotated[Mapping[str, str], BeforeValidator(source_tokens)]
Rerank = Annotated[Literal["off", "provider", "local"], BeforeValidator(rerank)]
LogLevel = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(log_level)]
