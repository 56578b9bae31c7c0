"""Every setting: its environment variable, default, meaning and value, in groups.

Settings are read from environment variables, and only here; no `.env` file is read. `Settings` is passed to `bootstrap`
only: everything below it gets the options that it needs.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.project import DEFAULT_MARKERS

T = TypeVar("T")

Provider = Literal["auto", "none", "local", "onnx", "openai", "gemini"]
Rerank = Literal["off", "provider", "local"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
LogFormat = Literal["text", "json"]
Card = Literal["off", "names", "full"]

DEFAULT_SKILLS_DIR = "~/.skillhub/skills"
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting: the environment variable `name`, and the `field` of its group that holds the value.

    `read` converts the text to a value, or raises ValueError with what is allowed. For a `forgiving` setting an
    invalid value is reported and the default is used.
    """

    name: str
    field: str
    default: str
    meaning: str
    read: Callable[[str], T]
    aliases: tuple[str, ...] = ()
    secret: bool = False
    forgiving: bool = False


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """Settings that belong together: the field `name` of `Settings`, a title for people, and the type of the values."""

    name: str
    title: str
    make: Callable[..., object]
    settings: tuple[Setting[object], ...]


@dataclass(frozen=True, slots=True)
class SkillSettings:
    """Where skills are found, and which are refused. `dirs` have `~` expanded; `roots` is never empty.

    `dirs_given` and `roots_given` say whether a person set these two, rather than leave them at their defaults.
    """

    dirs: tuple[str, ...]
    dirs_given: bool
    roots: tuple[str, ...]
    roots_given: bool
    cwd: str
    project_root: str
    markers: tuple[str, ...]
    strict: bool
    registry_max_lines: int
    registry_max_line_characters: int


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """Which skills are served, and the files of rules and choices. `permissions` is empty or a path.

    Names or categories are None where they are not set; where they are and name nothing, nothing is served. `trust` is
    the name of a `policy.trust.TrustMode`.
    """

    enabled_skills: frozenset[str] | None
    enabled_categories: frozenset[str] | None
    trust: Literal["limited", "ask", "all", "none"]
    audit: Literal["warn", "block", "off"]
    frozen: Literal["0", "1", "only"]
    permissions: str
    choices: str


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The index: the path of its database, and whether it follows the files.

    For a replica the path is that of a publication: a directory, or the URL of a bucket.
    """

    db_path: str
    skip_auto_reindex: bool


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Publications in object storage: how the bucket is reached. The options may have credentials."""

    options: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReplicaSettings:
    """Serving a publication: whether that is done, which of its snapshots (empty: the current one), and its mirror."""

    read_only: bool
    snapshot: str
    refresh_seconds: float
    mirror_dir: str
    mirror_max_bytes: int


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The embedding provider. An empty `model` or `base_url` is the provider's default.

    `model_dir` is the directory of a model for ONNX, or empty.
    """

    provider: Provider
    model: str
    model_dir: str
    base_url: str
    openai_api_key: str = field(repr=False)
    gemini_api_key: str = field(repr=False)

    @property
    def api_key(self) -> str:
        """The key of the chosen provider, or an empty text."""
        return {"openai": self.openai_api_key, "gemini": self.gemini_api_key}.get(self.provider, "")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How `search_skills` finds, orders and cuts hits.

    `rerank` is what orders the best: nothing, a model of the embedding provider, or the one in `rerank_model_dir`.
    """

    limit: int
    threshold: float
    confidence: float
    mode: Literal["auto", "fts", "vector", "hybrid"]
    fields: tuple[str, ...]
    rerank: Rerank
    rerank_model: str
    rerank_model_dir: str


@dataclass(frozen=True, slots=True)
class DisclosureSettings:
    """Which tools are offered, and how much of the skills they, the catalogue and the instructions disclose."""

    tools: tuple[str, ...]
    max_body_bytes: int
    max_file_bytes: int
    serve_dotfiles: bool
    expose_paths: bool
    error_style: Literal["result", "jsonrpc"]
    card: Card
    instructions_max_bytes: int
    catalogue_max_entries: int
    catalogue_max_bytes: int
    skills_enabled: bool
    skill_search_limit: int
    skill_search_max_limit: int
    agents_config: str


@dataclass(frozen=True, slots=True)
class ExecutionSettings:
    """Running commands of skills, and hooks. `hooks` is empty or a path."""

    enable_run: bool
    enable_run_over_http: bool
    allowed_commands: tuple[str, ...]
    sandbox: str
    output_dirs: tuple[str, ...]
    timeout_seconds: float
    max_output_bytes: int
    max_cpu_seconds: int
    max_memory_bytes: int
    max_open_files: int
    max_processes: int
    max_written_file_bytes: int
    hooks: str


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Serving over HTTP: authentication, allowed hosts and origins, limits, proxies and processes.

    `trusted_proxies` is None where they follow from `public_url`.
    """

    token: str = field(repr=False)
    tokens_file: str
    jwt_issuer: str
    jwt_audience: str
    jwt_jwks: str
    allow_anonymous: bool
    public_url: str
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    trusted_proxies: tuple[str, ...] | None
    rate_limit: int
    max_request_bytes: int
    max_connections: int
    max_connections_per_address: int
    backlog: int
    header_timeout_seconds: float
    body_timeout_seconds: float
    max_sessions: int
    max_sessions_per_caller: int
    session_idle_seconds: float
    stateless: bool
    workers: int
    well_known: bool


@dataclass(frozen=True, slots=True)
class ObservabilitySettings:
    """Logs, the audit log, metrics and the usage log. An empty path writes no such file."""

    log_level: LogLevel
    log_format: LogFormat
    audit_log: str
    metrics: bool
    usage_log: str


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """Installing skills: bearer tokens for sites that ask for one, by host or host:port, and who must have signed."""

    source_tokens: Mapping[str, str] = field(repr=False)
    require_signed: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings as values, in groups."""

    skills: SkillSettings
    policy: PolicySettings
    disclosure: DisclosureSettings
    search: SearchSettings
    embedding: EmbeddingSettings
    index: IndexSettings
    storage: StorageSettings
    replica: ReplicaSettings
    execution: ExecutionSettings
    http: HttpSettings
    library: LibrarySettings
    observability: ObservabilitySettings


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Where a setting's value came from: an option of the command line, a variable, or the default.

    `raw` is its text. `problem` says why the text that was given is not used, where the default is used instead.
    """

    setting: Setting[object]
    raw: str = field(repr=False)
    source: str
    problem: str | None = None


def _text(text: str) -> str:
    # A key that was read from a file ends with a newline, which is not allowed in a header.
    return text.strip()


def _token(text: str) -> str:
    # What was meant to be a token and is blank must not open the server to everybody.
    if text and not text.strip():
        raise ValueError("must not be blank; unset it to have no such token")
    return text.strip()


def _address(text: str) -> str:
    address = text.strip()
    if text and not re.match(r"https?://[^\s/]", address):
        raise ValueError("must be a URL that starts with http:// or https://")
    return address


def _mcp_address(text: str) -> str:
    address = _address(text)
    if address and (not address.endswith("/mcp") or re.search(r"[?#]", address)):
        raise ValueError("must be a URL that ends with /mcp")
    return address


def _networks(text: str) -> tuple[str, ...] | None:
    networks = _list(text)
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


def _directories(text: str) -> tuple[str, ...]:
    found = tuple(os.path.expanduser(part) for part in text.split(os.pathsep) if part.strip())
    if not found or "\0" in text:
        raise ValueError("must name at least one directory")
    # The whole text, as the separator of directories is in every address.
    _refuse_address(text)
    return found


def _optional_directories(text: str) -> tuple[str, ...]:
    return tuple(map(os.path.abspath, _directories(text))) if text else ()


def _path(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("must be a local path")
    _refuse_address(text)
    return os.path.abspath(os.path.expanduser(text))


def _database(text: str) -> str:
    # Whether there may be a bucket depends on another setting.
    return text.strip().rstrip("/") if is_bucket(text) else _path(text)


def is_bucket(text: str) -> bool:
    """Whether a value of DB_PATH is the URL of a bucket, and no path of this machine."""
    return re.match(r"(?:s3|gs|az)://[^/\s]", text.strip(), re.IGNORECASE) is not None


def _optional_path(text: str) -> str:
    return _path(text) if text else ""


def _some_of(*allowed: str) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(part.lower() for part in _list(text))
        # Empty is the default. What names nothing, such as a comma, was meant to leave something out.
        if not set(chosen) <= {*allowed, "all"} or (text and not chosen):
            raise ValueError("must be one or more of " + ", ".join(allowed) + ", separated by commas")
        return tuple(name for name in allowed if "all" in chosen or name in chosen)

    return read


def _choice(*allowed: str, upper: bool = False) -> Callable[[str], str]:
    def read(text: str) -> str:
        value = text.strip().upper() if upper else text.strip().lower()
        if value not in allowed:
            raise ValueError("must be one of " + ", ".join(allowed))
        return value

    return read


def _log_level(text: str) -> str:
    value = _choice("DEBUG", "INFO", "WARN", "WARNING", "ERROR", upper=True)(text)
    return "WARNING" if value == "WARN" else value


def _switch(text: str) -> bool:
    value = text.strip().lower()
    if value not in (*_TRUE, *_FALSE):
        raise ValueError("must be 1 or 0 (or true/false, yes/no, on/off)")
    return value in _TRUE


def _rerank(text: str) -> Rerank:
    if text.strip().lower() == "local":
        return "local"
    try:
        return "provider" if _switch(text) else "off"
    except ValueError:
        raise ValueError("must be 0, 1 (a model of the provider) or local (SEARCH_RERANK_MODEL_DIR)") from None


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        requirement = f"must be a whole number from {low} to {high}"
        try:
            value = int(text.strip())
        except ValueError:
            raise ValueError(requirement) from None
        if not low <= value <= high:
            raise ValueError(requirement)
        return value

    return read


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        requirement = f"must be a number from {low:g} to {high:g}"
        try:
            value = float(text.strip())
        except ValueError:
            raise ValueError(requirement) from None
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError(requirement)
        return value

    return read


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _hosts(text: str) -> tuple[str, ...]:
    names = _list(text)
    if any("/" in name or name == "*" for name in names):
        raise ValueError("must be host names, such as skills.example.com, separated by commas")
    return names


def _origins(text: str) -> tuple[str, ...]:
    origins = _list(text)
    if not all(re.fullmatch(r"https?://[^\s/*]+", origin) for origin in origins):
        raise ValueError("must be origins, such as https://app.example.com, separated by commas")
    return origins


def _commands(text: str) -> tuple[str, ...]:
    names = _list(text)
    if any(re.search(r"[\s/\\]", name) for name in names):
        raise ValueError("must be command names without paths or arguments, separated by commas")
    return names


def _names(text: str) -> frozenset[str] | None:
    # A text without a name in it, such as a comma, is a filter that lets nothing pass, and not the lack of one.
    return frozenset(_list(text)) if text else None


def _lower_names(text: str) -> frozenset[str] | None:
    names = _names(text)
    return None if names is None else frozenset(name.lower() for name in names)


_ENDPOINT = re.compile(r"endpoint(?:_url)?\Z", re.IGNORECASE)
# A comma in a value is part of it, unless another key follows.
_BETWEEN_OPTIONS = re.compile(r",(?=\s*[A-Za-z][A-Za-z0-9_.]*\s*=)")


def _options(text: str) -> Mapping[str, str]:
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


def _source_tokens(text: str) -> Mapping[str, str]:
    tokens: dict[str, str] = {}
    for part in _list(text):
        host, _, token = (each.strip() for each in part.partition("="))
        if not (token and _HOST_AND_PORT.fullmatch(host)):
            raise ValueError("must be host=token, such as skills.example.com=TOKEN, separated by commas")
        tokens[host.lower()] = token
    return tokens


def _snapshot(text: str) -> str:
    wanted = text.strip()
    if wanted and not re.fullmatch(r"\d{8}-[0-9a-f]{12}", wanted):
        raise ValueError("must be the id of a snapshot, such as 00000012-3fa9c01d2b45")
    return wanted


def _setting(
    name: str,
    field: str,
    default: str,
    meaning: str,
    read: Callable[[str], object],
    *,
    aliases: tuple[str, ...] = (),
    secret: bool = False,
    forgiving: bool = False,
) -> Setting[object]:
    return Setting(name, field, default, meaning, read, aliases, secret, forgiving)


_MEBIBYTES_64 = 64 * 1024 * 1024
# MCP's SDK accepts no larger request.
_MEBIBYTES_4 = 4 * 1024 * 1024
FIELDS = ("name", "description", "tags", "category", "body")
_PLACES = ("project", "user", "hub", "builtin", "claude")
DEFAULT_PLACES = ("project", "user", "hub")
TOOL_SETS = ("core", "context", "agents", "registry", "skill")

_SKILLS = (
    _setting(
        "SKILLS_DIR",
        "dirs",
        DEFAULT_SKILLS_DIR,
        "Directories that hold skills, separated as in PATH; of two skills with one name, the earlier directory's wins",
        _directories,
    ),
    _setting(
        "SKILLHUB_ROOTS",
        "roots",
        "",
        "Places to search: one or more of project, user, hub (SKILLS_DIR), builtin and claude, separated by commas. "
        "Empty means project,user,hub and what `skillhub roots add` recorded, or hub alone where SKILLS_DIR is set",
        _some_of(*_PLACES),
    ),
    _setting(
        "SKILLHUB_CWD",
        "cwd",
        "",
        "Working directory to find the project's skills from; empty means that of the process",
        _text,
    ),
    _setting(
        "SKILLHUB_PROJECT_ROOT",
        "project_root",
        "",
        "Root directory of the project; empty means the nearest directory with a marker, from the working directory up",
        _text,
        aliases=("CODELIA_AGENTS_ROOT",),
    ),
    _setting(
        "SKILLHUB_MARKERS",
        "markers",
        ",".join(DEFAULT_MARKERS),
        "Names of files or directories that mark the root of a project, separated by commas",
        _list,
        aliases=("CODELIA_AGENTS_MARKERS",),
    ),
    _setting(
        "SKILLHUB_STRICT", "strict", "0", "1 refuses every skill that breaks a rule of the specification", _switch
    ),
    _setting(
        "SKILLHUB_REGISTRY_MAX_LINES",
        "registry_max_lines",
        "200",
        "Maximum lines of frontmatter; the strict registry refuses a skill with more",
        _whole(1, 1_000_000),
    ),
    _setting(
        "SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS",
        "registry_max_line_characters",
        "500",
        "Maximum characters in a line of frontmatter, except the description's; the strict registry refuses a skill "
        "with a longer one",
        _whole(1, 1_000_000),
    ),
)

_POLICY = (
    _setting(
        "SKILLHUB_ENABLED_SKILLS",
        "enabled_skills",
        "",
        "Names of the only skills to serve, separated by commas; if set, SKILLHUB_ENABLED_CATEGORIES has no effect. A "
        "text without a name, such as a comma, serves nothing",
        _names,
    ),
    _setting(
        "SKILLHUB_ENABLED_CATEGORIES",
        "enabled_categories",
        "",
        "Categories of the only skills to serve, separated by commas; a text without one serves nothing",
        _lower_names,
    ),
    _setting(
        "SKILLHUB_TRUST",
        "trust",
        "limited",
        "What becomes of a project's skills until you agree to them with `skillhub trust`: limited (found and loaded; "
        "they take no name of yours, are never pinned, and only counted on the card), ask (also asks before each is "
        "loaded), all (every project is trusted) or none (left out)",
        _choice("limited", "ask", "all", "none"),
    ),
    _setting(
        "SKILLHUB_AUDIT",
        "audit",
        "warn",
        "What becomes of what `skillhub audit` finds: warn (search_skills and load_skill say it, from high severity), "
        "block (skills with a critical finding are also withheld, until you accept it) or off (no skill is audited)",
        _choice("warn", "block", "off"),
    ),
    _setting(
        "SKILLHUB_FROZEN",
        "frozen",
        "0",
        "1 withholds a skill that a lock (`skillhub lock`) names and whose files are not those that were locked, until "
        "they are again; only withholds what no lock names, too",
        _choice("0", "1", "only"),
    ),
    _setting(
        "SKILLHUB_PERMISSIONS",
        "permissions",
        "",
        "File of rules that allow and deny, in addition to ~/.skillhub/permissions.json and the project's; must exist",
        _optional_path,
    ),
    _setting(
        "SKILLHUB_CHOICES",
        "choices",
        "~/.skillhub/choices.json",
        "File that records which skills were switched on and off",
        _path,
    ),
)

_DISCLOSURE = (
    _setting(
        "SKILLHUB_TOOLS",
        "tools",
        "core",
        f"Sets of tools to offer: one or more of {', '.join(TOOL_SETS)}, separated by commas, or all",
        _some_of(*TOOL_SETS),
    ),
    _setting(
        "SKILLHUB_MAX_BODY_BYTES",
        "max_body_bytes",
        "131072",
        "Maximum bytes of instructions in one load_skill result; a longer body is returned in parts",
        _whole(1024, _MEBIBYTES_64),
    ),
    _setting(
        "MAX_FILE_BYTES",
        "max_file_bytes",
        "65536",
        "Maximum bytes in one read_skill_file result",
        _whole(4, _MEBIBYTES_64),
    ),
    _setting(
        "SKILLHUB_SERVE_DOTFILES",
        "serve_dotfiles",
        "0",
        "1 allows reading files whose names start with a dot",
        _switch,
    ),
    _setting(
        "SKILLHUB_EXPOSE_PATHS",
        "expose_paths",
        "0",
        "1 returns the skill's absolute path over HTTP too; over stdio it is always returned",
        _switch,
    ),
    _setting(
        "SKILLHUB_ERROR_STYLE",
        "error_style",
        "result",
        "How a failed call is answered: result, an error result, as MCP recommends; or jsonrpc, a JSON-RPC error",
        _choice("result", "jsonrpc"),
    ),
    _setting(
        "SKILLHUB_CARD",
        "card",
        "full",
        "What the server's instructions say about the skills: full describes pinned skills and those that fit the "
        "project and maps the domains of the rest; names only names them; off says nothing, in the lists of other "
        "sets too",
        _choice("off", "names", "full"),
    ),
    _setting(
        "SKILLHUB_INSTRUCTIONS_MAX_BYTES",
        "instructions_max_bytes",
        "2048",
        "Maximum bytes in the server's instructions: first what the tools need, then the skills",
        _whole(512, _MEBIBYTES_64),
    ),
    _setting(
        "SKILLHUB_CATALOGUE_MAX_ENTRIES",
        "catalogue_max_entries",
        "200",
        "Maximum skills in a catalogue",
        _whole(1, 1_000_000),
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_CATALOGUE_MAX_BYTES",
        "catalogue_max_bytes",
        "32768",
        "Maximum bytes of UTF-8 in a catalogue: descriptions are shortened to fit, then skills are left out",
        _whole(1, _MEBIBYTES_64),
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_SKILLS_ENABLED",
        "skills_enabled",
        "1",
        "0 removes the agent-context tools (set context): no catalogue, no skill_search, no skill_load",
        _switch,
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_SKILL_SEARCH_LIMIT",
        "skill_search_limit",
        "8",
        "Maximum hits of skill_search where the call gives no limit",
        _whole(1, 1_000),
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_SKILL_SEARCH_MAX_LIMIT",
        "skill_search_max_limit",
        "50",
        "Maximum hits of skill_search whatever limit the call gives",
        _whole(1, 1_000),
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_AGENTS_CONFIG",
        "agents_config",
        "",
        "How AGENTS.md files are read: a JSON object, or the path of a file with one; empty means the defaults",
        _text,
    ),
)

_SEARCH = (
    _setting("SEARCH_LIMIT", "limit", "10", "Maximum hits of a search", _whole(1, 100)),
    _setting(
        "SEARCH_THRESHOLD",
        "threshold",
        "0.2",
        "If there are more than five hits, those below this share of the best score are left out",
        _number(0, 1),
    ),
    _setting(
        "SEARCH_CONFIDENCE",
        "confidence",
        "0.2",
        "Score from which the first hit counts as a fit; below it all are near misses, and far below it only five "
        "are returned",
        _number(0, 1),
    ),
    _setting(
        "SEARCH_MODE",
        "mode",
        "auto",
        "Search by fts (full text), vector, hybrid, or auto, the best measured combination",
        _choice("auto", "fts", "vector", "hybrid"),
    ),
    _setting(
        "SEARCH_FIELDS",
        "fields",
        "all",
        f"Fields of a skill to search: one or more of {', '.join(FIELDS)}, separated by commas, or all",
        _some_of(*FIELDS),
    ),
    _setting(
        "SEARCH_RERANK",
        "rerank",
        "0",
        "What reorders the best hits: 0 nothing, 1 a model of the embedding provider, openai or gemini, which is sent "
        "the query and their names and descriptions, local the cross-encoder in SEARCH_RERANK_MODEL_DIR",
        _rerank,
    ),
    _setting("SEARCH_RERANK_MODEL", "rerank_model", "", "Model that reorders; empty means a small one", _text),
    _setting(
        "SEARCH_RERANK_MODEL_DIR",
        "rerank_model_dir",
        "",
        "Directory of a cross-encoder, with tokenizer.json and model.onnx; required if SEARCH_RERANK=local",
        _optional_path,
    ),
)

_EMBEDDING = (
    _setting(
        "EMBEDDING_PROVIDER",
        "provider",
        "auto",
        "Provider of the embeddings: local (word vectors on this machine), onnx (a sentence encoder of yours, in this "
        "process), openai, gemini, none, or auto, which is local if installed and none otherwise. Only openai and "
        "gemini send data: names, descriptions, tags, categories and queries, never bodies",
        _choice("auto", "none", "local", "onnx", "openai", "gemini"),
    ),
    _setting("EMBEDDING_MODEL", "model", "", "Model of the provider; empty means its default", _text),
    _setting(
        "EMBEDDING_MODEL_DIR",
        "model_dir",
        "",
        "Directory of a sentence encoder, with tokenizer.json and model.onnx; required if EMBEDDING_PROVIDER=onnx",
        _optional_path,
    ),
    _setting(
        "EMBEDDING_BASE_URL",
        "base_url",
        "",
        "URL of another server with the provider's API; empty means the provider's own",
        _address,
    ),
    _setting("OPENAI_API_KEY", "openai_api_key", "", "Required if EMBEDDING_PROVIDER=openai", _text, secret=True),
    _setting(
        "GEMINI_API_KEY",
        "gemini_api_key",
        "",
        "Required if EMBEDDING_PROVIDER=gemini",
        _text,
        aliases=("GOOGLE_API_KEY",),
        secret=True,
    ),
)

_INDEX = (
    _setting(
        "DB_PATH",
        "db_path",
        "~/.skillhub/skills.lancedb",
        "Path of the index database; with SKILLHUB_READ_ONLY=1 a publication: its directory, or s3://, gs://, az://",
        _database,
    ),
    _setting(
        "SKILLHUB_SKIP_AUTO_REINDEX",
        "skip_auto_reindex",
        "0",
        "1 serves the index as it was last written and does not look for changes",
        _switch,
    ),
)

_STORAGE = (
    _setting(
        "SKILLHUB_STORAGE_OPTIONS",
        "options",
        "",
        "How the bucket of a publication (s3://, gs://, az://) is reached: key=value, separated by commas, such as "
        "region=eu-central-1,endpoint=https://s3.example.com. What is not named comes from AWS_*, GOOGLE_* or AZURE_*",
        _options,
        secret=True,
    ),
)

_REPLICA = (
    _setting(
        "SKILLHUB_READ_ONLY",
        "read_only",
        "0",
        "1 serves the publication that DB_PATH names, and looks into no skills directory",
        _switch,
    ),
    _setting(
        "SKILLHUB_SNAPSHOT",
        "snapshot",
        "",
        "Id of the only snapshot to serve, from `skillhub snapshots list`; empty follows the current one",
        _snapshot,
    ),
    _setting(
        "SKILLHUB_REFRESH_SECONDS",
        "refresh_seconds",
        "30",
        "Seconds within which a replica serves what was published; after failures it asks less often",
        _number(0.2, 86_400),
    ),
    _setting(
        "SKILLHUB_MIRROR_DIR",
        "mirror_dir",
        "~/.skillhub/mirrors",
        "Directory in which replicas keep a local mirror of each publication; several may share it",
        _path,
    ),
    _setting(
        "SKILLHUB_MIRROR_MAX_BYTES",
        "mirror_max_bytes",
        "21474836480",
        "Maximum bytes of a mirror; files that do not fit are fetched when somebody asks for them",
        _whole(_MEBIBYTES_64, 1 << 50),
    ),
)

_EXECUTION = (
    _setting("SKILLHUB_ENABLE_RUN", "enable_run", "0", "1 offers run_skill_command over stdio", _switch),
    _setting(
        "SKILLHUB_ENABLE_RUN_OVER_HTTP",
        "enable_run_over_http",
        "0",
        "1, together with SKILLHUB_ENABLE_RUN, offers run_skill_command over HTTP too",
        _switch,
    ),
    _setting(
        "ALLOWED_COMMANDS",
        "allowed_commands",
        "python,uv,node,cat,ls,grep",
        "Commands that run_skill_command may run, by name, separated by commas",
        _commands,
    ),
    _setting(
        "SKILLHUB_SANDBOX",
        "sandbox",
        "auto",
        "What confines the commands of run_skill_command: bubblewrap, landlock, or auto for the first of them that "
        "works here; where none does, commands are refused. off confines nothing: a command may do what you may",
        _choice("auto", "bubblewrap", "landlock", "off"),
    ),
    _setting(
        "SKILLHUB_OUTPUT_DIRS",
        "output_dirs",
        "",
        "Directories below which an agent may name an output directory for a command, which the command may then read "
        "and write. Empty: a command writes only to a private directory of its session. Separated as in PATH",
        _optional_directories,
    ),
    _setting(
        "EXEC_TIMEOUT_SECONDS",
        "timeout_seconds",
        "60",
        "Seconds after which a command and its children are killed",
        _number(0.1, 86_400),
    ),
    _setting(
        "EXEC_MAX_OUTPUT_BYTES",
        "max_output_bytes",
        "65536",
        "Maximum bytes of stdout, and of stderr, that a command returns",
        _whole(1, _MEBIBYTES_64),
    ),
    _setting(
        "EXEC_MAX_CPU_SECONDS",
        "max_cpu_seconds",
        "300",
        "Maximum seconds of processor time of each process of a command",
        _whole(1, 86_400),
    ),
    _setting(
        "EXEC_MAX_MEMORY_BYTES",
        "max_memory_bytes",
        "2147483648",
        "Maximum bytes of memory of a command, and of its temporary files where they are in memory",
        _whole(16 * 1024 * 1024, 1 << 44),
    ),
    _setting(
        "EXEC_MAX_OPEN_FILES",
        "max_open_files",
        "1024",
        "Maximum files that each process of a command may have open",
        _whole(16, 1_048_576),
    ),
    _setting(
        "EXEC_MAX_PROCESSES",
        "max_processes",
        "128",
        "Maximum processes and threads of a command",
        _whole(4, 65_536),
    ),
    _setting(
        "EXEC_MAX_FILE_BYTES",
        "max_written_file_bytes",
        "268435456",
        "Maximum bytes of a file that a command writes",
        _whole(0, 1 << 44),
    ),
    _setting(
        "SKILLHUB_HOOKS",
        "hooks",
        "",
        "File of shell commands to run before and after each tool call, and before whatever else hands out a skill. No "
        "other file of hooks is ever read; empty runs none",
        _optional_path,
    ),
)

_HTTP = (
    _setting(
        "SKILLHUB_TOKEN",
        "token",
        "",
        "Bearer token that grants HTTP clients every skill. If this, SKILLHUB_TOKENS_FILE or SKILLHUB_JWT_ISSUER is "
        "set, every client must send a token",
        _token,
        secret=True,
    ),
    _setting(
        "SKILLHUB_TOKENS_FILE",
        "tokens_file",
        "",
        "File of hashed bearer tokens, each with the skills that it grants; `skillhub token new` writes it",
        _optional_path,
    ),
    _setting(
        "SKILLHUB_JWT_ISSUER",
        "jwt_issuer",
        "",
        "Issuer whose JSON Web Tokens are accepted; requires SKILLHUB_JWT_AUDIENCE. The claims skillhub_skills and "
        "skillhub_categories, lists of names, limit the skills that a token grants",
        _address,
    ),
    _setting("SKILLHUB_JWT_AUDIENCE", "jwt_audience", "", "Audience that the JSON Web Tokens must name", _text),
    _setting(
        "SKILLHUB_JWT_JWKS",
        "jwt_jwks",
        "",
        "URL of the issuer's keys; empty means the issuer's /.well-known/jwks.json",
        _address,
    ),
    _setting(
        "SKILLHUB_ALLOW_ANONYMOUS",
        "allow_anonymous",
        "0",
        "1 allows a server without tokens to listen on an address that other machines can reach",
        _switch,
    ),
    _setting(
        "SKILLHUB_PUBLIC_URL",
        "public_url",
        "",
        "URL of /mcp as clients reach it, such as https://skills.example.com/mcp, for the protected resource metadata; "
        "its host and origin are allowed",
        _mcp_address,
    ),
    _setting(
        "SKILLHUB_ALLOWED_HOSTS",
        "allowed_hosts",
        "",
        "Host names that requests may be addressed to, in addition to this machine's, separated by commas",
        _hosts,
    ),
    _setting(
        "SKILLHUB_ALLOWED_ORIGINS",
        "allowed_origins",
        "",
        "Origins whose pages may call, in addition to this machine's, separated by commas",
        _origins,
    ),
    _setting(
        "SKILLHUB_TRUSTED_PROXIES",
        "trusted_proxies",
        "auto",
        "IP addresses or networks of proxies whose X-Forwarded-* headers are trusted, separated by commas; none; or "
        "auto, this machine's if SKILLHUB_PUBLIC_URL begins with https, and none otherwise",
        _networks,
    ),
    _setting(
        "SKILLHUB_RATE_LIMIT",
        "rate_limit",
        "6000",
        "Maximum requests per minute of one client, identified by its token or else its address; 0 means no limit",
        _whole(0, 1_000_000),
    ),
    _setting(
        "SKILLHUB_MAX_REQUEST_BYTES",
        "max_request_bytes",
        "1048576",
        "Maximum bytes in the body of a request",
        _whole(1_024, _MEBIBYTES_4),
    ),
    _setting(
        "SKILLHUB_MAX_CONNECTIONS",
        "max_connections",
        "512",
        "Maximum connections of a process, or what its limit of descriptors leaves for them; one that waits goes first",
        _whole(4, 100_000),
    ),
    _setting(
        "SKILLHUB_MAX_CONNECTIONS_PER_ADDRESS",
        "max_connections_per_address",
        "256",
        "Maximum connections from one address that is no trusted proxy",
        _whole(1, 100_000),
    ),
    _setting(
        "SKILLHUB_BACKLOG",
        "backlog",
        "2048",
        "Maximum connections that wait to be accepted; the system may allow fewer",
        _whole(1, 65_535),
    ),
    _setting(
        "SKILLHUB_HEADER_TIMEOUT_SECONDS",
        "header_timeout_seconds",
        "10",
        "Seconds within which the headers of a request must arrive",
        _number(0.1, 3_600),
    ),
    _setting(
        "SKILLHUB_BODY_TIMEOUT_SECONDS",
        "body_timeout_seconds",
        "30",
        "Seconds within which the body of a request must arrive",
        _number(0.1, 3_600),
    ),
    _setting(
        "SKILLHUB_MAX_SESSIONS",
        "max_sessions",
        "1000",
        "Maximum sessions of the 2025-11-25 protocol; the one that was used least recently ends for a new one",
        _whole(1, 10_000),
    ),
    _setting(
        "SKILLHUB_MAX_SESSIONS_PER_CALLER",
        "max_sessions_per_caller",
        "250",
        "Maximum sessions of one caller, identified by its token or else its address",
        _whole(1, 10_000),
    ),
    _setting(
        "SKILLHUB_SESSION_IDLE_SECONDS",
        "session_idle_seconds",
        "1800",
        "Seconds without a request after which a session of the 2025-11-25 protocol ends",
        _number(1, 86_400),
    ),
    _setting(
        "SKILLHUB_STATELESS",
        "stateless",
        "0",
        "1 keeps no sessions of the 2025-11-25 protocol, so that any worker can answer any request",
        _switch,
    ),
    _setting(
        "SKILLHUB_WORKERS",
        "workers",
        "1",
        "Processes that answer requests at one address; more than 1 requires SKILLHUB_STATELESS=1",
        _whole(1, 64),
    ),
    _setting(
        "SKILLHUB_WELL_KNOWN",
        "well_known",
        "0",
        "1 serves the skills for installing elsewhere: /.well-known/agent-skills/index.json, to each caller theirs",
        _switch,
    ),
)

_LIBRARY = (
    _setting(
        "SKILLHUB_SOURCE_TOKENS",
        "source_tokens",
        "",
        "Bearer tokens for sites that skills are installed from, as a team's hub: host=token, separated by commas. "
        "A token is sent to its host only, over https or on this machine",
        _source_tokens,
        secret=True,
    ),
    _setting(
        "SKILLHUB_REQUIRE_SIGNED",
        "require_signed",
        "0",
        "1 lets `skillhub add` and `update` install only what one of your keys or ~/.skillhub/allowed_signers signed",
        _switch,
    ),
)

_OBSERVABILITY = (
    _setting(
        "LOG_LEVEL", "log_level", "INFO", "Minimum level logged to stderr: DEBUG, INFO, WARN or ERROR", _log_level
    ),
    _setting(
        "SKILLHUB_LOG_FORMAT",
        "log_format",
        "text",
        "Format of the log on stderr: text, or json, one object per line",
        _choice("text", "json"),
    ),
    _setting(
        "SKILLHUB_AUDIT_LOG",
        "audit_log",
        "",
        "File that records each load, read and run of a skill, one JSON object per line; a server also logs them",
        _optional_path,
    ),
    _setting("SKILLHUB_METRICS", "metrics", "0", "1 serves /metrics for Prometheus over HTTP", _switch),
    _setting(
        "SKILLHUB_USAGE_LOG",
        "usage_log",
        "",
        "File that records searches, loads and reads, for `skillhub stats`; empty records nothing. It is never sent",
        _optional_path,
    ),
)

GROUPS = (
    SettingGroup("skills", "Skills: where they are found and which are refused", SkillSettings, _SKILLS),
    SettingGroup("policy", "Policy: which skills are served", PolicySettings, _POLICY),
    SettingGroup("disclosure", "Disclosure: tools, results and catalogues", DisclosureSettings, _DISCLOSURE),
    SettingGroup("search", "Search", SearchSettings, _SEARCH),
    SettingGroup("embedding", "Embeddings", EmbeddingSettings, _EMBEDDING),
    SettingGroup("index", "Index", IndexSettings, _INDEX),
    SettingGroup("storage", "Storage: publications in buckets", StorageSettings, _STORAGE),
    SettingGroup("replica", "Replicas: serving a publication", ReplicaSettings, _REPLICA),
    SettingGroup("execution", "Execution: commands and hooks", ExecutionSettings, _EXECUTION),
    SettingGroup("http", "HTTP: authentication, limits and processes", HttpSettings, _HTTP),
    SettingGroup("library", "Library: installing skills", LibrarySettings, _LIBRARY),
    SettingGroup("observability", "Observability: logs and metrics", ObservabilitySettings, _OBSERVABILITY),
)
SETTINGS: tuple[Setting[object], ...] = tuple(setting for group in GROUPS for setting in group.settings)
_PREFIX = "SKILLHUB_"
# The last is what a command of a skill gets, which may start a SkillHub of its own.
_KNOWN_NAMES = {name for setting in SETTINGS for name in (setting.name, *setting.aliases)} | {"SKILLHUB_RUN_ID"}


@dataclass(frozen=True, slots=True)
class UnknownSetting:
    """A variable that looks like a setting of SkillHub and is none; `near` is what it may mean, or empty."""

    name: str
    near: str

    def __str__(self) -> str:
        return f"{self.name} is no setting, and has no effect{self.guess}"

    @property
    def guess(self) -> str:
        """The question for a person, or an empty text."""
        return f": did you mean {self.near}?" if self.near else ""


def unknown_settings(names: Iterable[str]) -> tuple[UnknownSetting, ...]:
    """Return those of the `names` of variables that begin as SkillHub's own do and are no setting, sorted."""
    unknown = (name for name in set(names) if name.upper().startswith(_PREFIX) and name not in _KNOWN_NAMES)
    return tuple(UnknownSetting(name, _near_setting(name.upper())) for name in sorted(unknown))


def _near_setting(name: str) -> str:
    plain = name.removeprefix(_PREFIX)
    exact = next((known for known in (name, plain) if known in _KNOWN_NAMES), "")
    if exact:
        return exact
    # Imported here, since few have such a name.
    from skillhub_mcp.skills.suggestions import near_names

    # All begin alike, so that is no likeness.
    by_rest = {setting.name.removeprefix(_PREFIX): setting.name for setting in SETTINGS}
    return next((by_rest[rest] for rest in near_names(plain, by_rest, limit=1)), "")


def read_settings(
    environment: Mapping[str, str], options: Mapping[str, str] | None = None
) -> tuple[Settings, tuple[SettingSource, ...]]:
    """Return the settings and where each value came from; `options` (by setting name) override the environment.

    An empty variable counts as unset. Raises InvalidSetting, with the setting, the value and what is allowed, for the
    first value that is invalid or that lacks another setting that it requires. An invalid value of a forgiving setting
    is reported as its `SettingSource.problem`.
    """
    groups: dict[str, dict[str, object]] = {}
    sources: list[SettingSource] = []
    for group in GROUPS:
        values = groups[group.name] = {}
        for setting in group.settings:
            values[setting.field], source = _read(setting, _source(setting, environment, options or {}))
            sources.append(source)
    skills, disclosure, search = groups["skills"], groups["disclosure"], groups["search"]
    skills["dirs_given"] = next(source for source in sources if source.setting.name == "SKILLS_DIR").source != "default"
    skills["roots_given"] = bool(skills["roots"])
    skills["roots"] = skills["roots"] or (("hub",) if skills["dirs_given"] else DEFAULT_PLACES)
    disclosure["tools"] = disclosure["tools"] or ("core",)
    search["fields"] = search["fields"] or FIELDS
    made = {group.name: group.make(**groups[group.name]) for group in GROUPS}
    settings = Settings(**made)  # type: ignore[arg-type]  # GROUPS has one group per field; a test checks that
    _check_requirements(settings)
    return settings, tuple(sources)


def _read(setting: Setting[object], source: SettingSource) -> tuple[object, SettingSource]:
    try:
        return setting.read(source.raw), source
    except ValueError as error:
        shown = "***" if setting.secret else source.raw
        if not setting.forgiving:
            raise InvalidSetting(setting.name, shown, str(error)) from error
        problem = f"{setting.name}={shown!r} {error}"
        return setting.read(setting.default), SettingSource(setting, setting.default, "default", problem)


def _source(setting: Setting[object], environment: Mapping[str, str], options: Mapping[str, str]) -> SettingSource:
    if setting.name in options:
        return SettingSource(setting, options[setting.name], "option")
    for name in (setting.name, *setting.aliases):
        if environment.get(name):
            return SettingSource(setting, environment[name], f"environment ({name})")
    return SettingSource(setting, setting.default, "default")


def _check_requirements(settings: Settings) -> None:
    provider = settings.embedding.provider
    if provider in ("openai", "gemini") and not settings.embedding.api_key:
        name = f"{provider.upper()}_API_KEY"
        own = " (a server of yours that has no keys takes any text)" if settings.embedding.base_url else ""
        raise InvalidSetting(
            "EMBEDDING_PROVIDER",
            provider,
            f"requires {name}, which is not set",
            hint=f"set {name}{own}, or EMBEDDING_PROVIDER=none to search without embeddings",
        )
    if is_bucket(settings.index.db_path) and not settings.replica.read_only:
        raise InvalidSetting(
            "DB_PATH",
            settings.index.db_path,
            "is a publication, which is served read-only, and SKILLHUB_READ_ONLY is not set",
            hint="set SKILLHUB_READ_ONLY=1 or pass --read-only to serve it; skillhub publish writes it",
        )
    if provider == "onnx" and not settings.embedding.model_dir:
        raise InvalidSetting(
            "EMBEDDING_PROVIDER",
            provider,
            "requires EMBEDDING_MODEL_DIR, which is not set",
            hint="set EMBEDDING_MODEL_DIR to the directory of a sentence encoder, with tokenizer.json and model.onnx",
        )
    rerank = settings.search.rerank
    if rerank == "provider" and provider not in ("openai", "gemini"):
        raise InvalidSetting(
            "SEARCH_RERANK",
            "1",
            f"requires the provider openai or gemini, but EMBEDDING_PROVIDER is {provider}",
            hint="set EMBEDDING_PROVIDER to openai or gemini, or SEARCH_RERANK to 0 or local",
        )
    if rerank == "local" and not settings.search.rerank_model_dir:
        raise InvalidSetting(
            "SEARCH_RERANK",
            rerank,
            "requires SEARCH_RERANK_MODEL_DIR, which is not set",
            hint="set SEARCH_RERANK_MODEL_DIR to the directory of a cross-encoder, with tokenizer.json and model.onnx",
        )
