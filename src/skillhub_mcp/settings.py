"""Every setting, once: its name, default, meaning and form. Read from the environment, and from nowhere else.

Nothing else in the program reads an environment variable, and no `.env` file is read. `Settings` is handed to
`bootstrap` only; everything below gets the narrow options that it needs.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.project import DEFAULT_MARKERS

T = TypeVar("T")

Provider = Literal["auto", "none", "local", "openai", "gemini"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
LogFormat = Literal["text", "json"]
Card = Literal["off", "names", "full"]

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting. `read` turns its text into a value, or raises ValueError with what would be allowed.

    A value that a `forgiving` one cannot use is reported, and the default is used (seed 000 §9).
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
class Settings:
    """All settings as values. `skills_dirs` and `db_path` have `~` expanded; `roots` is never empty."""

    skills_dirs: tuple[str, ...]
    roots: tuple[str, ...]
    cwd: str
    project_root: str
    markers: tuple[str, ...]
    tools: tuple[str, ...]
    db_path: str
    embedding_provider: Provider
    embedding_model: str
    embedding_base_url: str
    openai_api_key: str = field(repr=False)
    gemini_api_key: str = field(repr=False)
    search_limit: int
    search_threshold: float
    search_confidence: float
    search_mode: Literal["auto", "fts", "vector", "hybrid"]
    search_fields: tuple[str, ...]
    search_rerank: bool
    search_rerank_model: str
    max_file_bytes: int
    max_body_bytes: int
    allowed_commands: tuple[str, ...]
    exec_timeout_seconds: float
    exec_max_output_bytes: int
    log_level: LogLevel
    enabled_skills: frozenset[str]
    enabled_categories: frozenset[str]
    skip_auto_reindex: bool
    strict: bool
    enable_run: bool
    enable_run_over_http: bool
    expose_paths: bool
    serve_dotfiles: bool
    error_style: Literal["result", "jsonrpc"]
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    allow_anonymous: bool
    token: str = field(repr=False)
    tokens_file: str
    jwt_issuer: str
    jwt_audience: str
    jwt_jwks: str
    public_url: str
    rate_limit: int
    max_request_bytes: int
    trusted_proxies: tuple[str, ...]
    stateless: bool
    workers: int
    log_format: LogFormat
    audit_log: str
    metrics: bool
    registry_max_lines: int
    registry_max_line_characters: int
    skills_enabled: bool
    catalogue_max_entries: int
    catalogue_max_bytes: int
    skill_search_limit: int
    skill_search_max_limit: int
    instructions_max_bytes: int
    card: Card
    website_url: str
    agents_config: str
    usage_log: str
    permissions: str
    choices: str
    hooks: str


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Where a setting's value came from: an option of the command line, a variable, or the default.

    `problem` says what was written instead, where that could not be used and the default is.
    """

    setting: Setting[object]
    written: str = field(repr=False)
    source: str
    problem: str | None = None


def _text(written: str) -> str:
    # A key that was read from a file brings its newline along, which no header may hold.
    return written.strip()


def _address(written: str) -> str:
    address = written.strip()
    if address and not re.match(r"https?://[^\s/]", address):
        raise ValueError("must be an address that begins with http:// or https://")
    return address


def _mcp_address(written: str) -> str:
    address = _address(written)
    if address and (not address.endswith("/mcp") or re.search(r"[?#]", address)):
        raise ValueError("must be an address that ends with /mcp")
    return address


def _networks(written: str) -> tuple[str, ...]:
    networks = _list(written)
    if networks == ("none",):
        return ()
    try:
        for network in networks:
            ipaddress.ip_network(network)
    except ValueError:
        raise ValueError("must be addresses or networks, such as 10.0.0.0/8, separated by commas, or none") from None
    return networks


def _directories(written: str) -> tuple[str, ...]:
    found = tuple(os.path.expanduser(part) for part in written.split(os.pathsep) if part.strip())
    if not found or "\0" in written:
        raise ValueError("must name at least one directory")
    return found


def _path(written: str) -> str:
    if not written.strip() or "\0" in written or re.match(r"\w{2,}://", written):
        raise ValueError("must be a path on this machine")
    return os.path.abspath(os.path.expanduser(written))


def _optional_path(written: str) -> str:
    return _path(written) if written.strip() else ""


def _some_of(*allowed: str) -> Callable[[str], tuple[str, ...]]:
    def read(written: str) -> tuple[str, ...]:
        chosen = tuple(part.lower() for part in _list(written))
        if not set(chosen) <= {*allowed, "all"}:
            raise ValueError("must be some of " + ", ".join(allowed) + ", separated by commas")
        return tuple(name for name in allowed if "all" in chosen or name in chosen)

    return read


def _choice(*allowed: str, upper: bool = False) -> Callable[[str], str]:
    def read(written: str) -> str:
        value = written.strip().upper() if upper else written.strip().lower()
        if value not in allowed:
            raise ValueError("must be one of " + ", ".join(allowed))
        return value

    return read


def _log_level(written: str) -> str:
    value = _choice("DEBUG", "INFO", "WARN", "WARNING", "ERROR", upper=True)(written)
    return "WARNING" if value == "WARN" else value


def _switch(written: str) -> bool:
    value = written.strip().lower()
    if value not in (*_TRUE, *_FALSE):
        raise ValueError("must be 1 or 0 (or true/false, yes/no, on/off)")
    return value in _TRUE


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(written: str) -> int:
        sentence = f"must be a whole number from {low} to {high}"
        try:
            value = int(written.strip())
        except ValueError:
            raise ValueError(sentence) from None
        if not low <= value <= high:
            raise ValueError(sentence)
        return value

    return read


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(written: str) -> float:
        sentence = f"must be a number from {low:g} to {high:g}"
        try:
            value = float(written.strip())
        except ValueError:
            raise ValueError(sentence) from None
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError(sentence)
        return value

    return read


def _list(written: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in written.split(",") if part.strip()))


def _hosts(written: str) -> tuple[str, ...]:
    names = _list(written)
    if any("/" in name or name == "*" for name in names):
        raise ValueError("must be names of hosts, such as skills.example.com, separated by commas")
    return names


def _origins(written: str) -> tuple[str, ...]:
    origins = _list(written)
    if not all(re.fullmatch(r"https?://[^\s/*]+", origin) for origin in origins):
        raise ValueError("must be origins, such as https://app.example.com, separated by commas")
    return origins


def _commands(written: str) -> tuple[str, ...]:
    names = _list(written)
    if any(re.search(r"[\s/\\]", name) for name in names):
        raise ValueError("must be bare names of commands, without paths or arguments, separated by commas")
    return names


def _names(written: str) -> frozenset[str]:
    return frozenset(_list(written))


def _lower_names(written: str) -> frozenset[str]:
    return frozenset(part.lower() for part in _list(written))


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
# MCP's SDK takes no more in a request.
_MEBIBYTES_4 = 4 * 1024 * 1024
FIELDS = ("name", "description", "tags", "category", "body")
_PLACES = ("project", "user", "hub", "builtin", "claude")
TOOL_SETS = ("core", "context", "agents", "registry", "skill")

SETTINGS: tuple[Setting[object], ...] = (
    _setting(
        "SKILLS_DIR",
        "skills_dirs",
        "~/.skillhub/skills",
        "Directories that hold skills, separated as in PATH; an earlier one wins a name",
        _directories,
    ),
    _setting(
        "SKILLHUB_ROOTS",
        "roots",
        "",
        "Which places are searched: some of project, user, hub (SKILLS_DIR), builtin and claude, separated by commas. "
        "Empty takes project,user,hub, and hub alone where SKILLS_DIR is set",
        _some_of(*_PLACES),
    ),
    _setting(
        "SKILLHUB_CWD",
        "cwd",
        "",
        "The working directory that project skills are looked for from; empty takes the process's own",
        _text,
    ),
    _setting(
        "SKILLHUB_PROJECT_ROOT",
        "project_root",
        "",
        "The project's root; empty takes the nearest directory, from the working directory upwards, with a marker",
        _text,
        aliases=("CODELIA_AGENTS_ROOT",),
    ),
    _setting(
        "SKILLHUB_MARKERS",
        "markers",
        ",".join(DEFAULT_MARKERS),
        "Names of files or directories that make a directory a project's root, separated by commas",
        _list,
        aliases=("CODELIA_AGENTS_MARKERS",),
    ),
    _setting(
        "SKILLHUB_TOOLS",
        "tools",
        "core",
        f"Which sets of tools are offered: some of {', '.join(TOOL_SETS)}, separated by commas, or all",
        _some_of(*TOOL_SETS),
    ),
    _setting("DB_PATH", "db_path", "~/.skillhub/skills.lancedb", "Where the index is kept", _path),
    _setting(
        "EMBEDDING_PROVIDER",
        "embedding_provider",
        "auto",
        "Whose embeddings search uses: auto takes local where that is installed, and else none; local is word vectors "
        "on this machine; neither sends anything anywhere. openai and gemini are sent names, descriptions, tags, "
        "categories and queries, never bodies",
        _choice("auto", "none", "local", "openai", "gemini"),
    ),
    _setting("EMBEDDING_MODEL", "embedding_model", "", "The provider's model; empty takes its usual one", _text),
    _setting(
        "EMBEDDING_BASE_URL",
        "embedding_base_url",
        "",
        "Another address that speaks the provider's protocol; empty takes the provider's own",
        _address,
    ),
    _setting("OPENAI_API_KEY", "openai_api_key", "", "Needed with EMBEDDING_PROVIDER=openai", _text, secret=True),
    _setting(
        "GEMINI_API_KEY",
        "gemini_api_key",
        "",
        "Needed with EMBEDDING_PROVIDER=gemini",
        _text,
        aliases=("GOOGLE_API_KEY",),
        secret=True,
    ),
    _setting("SEARCH_LIMIT", "search_limit", "10", "Hits a search returns at most", _whole(1, 100)),
    _setting(
        "SEARCH_THRESHOLD",
        "search_threshold",
        "0.2",
        "Of more than five hits, those below this share of the best score are left out",
        _number(0, 1),
    ),
    _setting(
        "SEARCH_CONFIDENCE",
        "search_confidence",
        "0.5",
        "The score from which on the best hit is said to fit; below it at most three near misses are returned. "
        "0 returns whatever was found",
        _number(0, 1),
    ),
    _setting(
        "SEARCH_MODE",
        "search_mode",
        "auto",
        "What finds skills: fts (words), vector, hybrid, or auto, which does what measures best",
        _choice("auto", "fts", "vector", "hybrid"),
    ),
    _setting(
        "SEARCH_FIELDS",
        "search_fields",
        "all",
        f"Which fields of a skill are searched: some of {', '.join(FIELDS)}, or all",
        _some_of(*FIELDS),
    ),
    _setting(
        "SEARCH_RERANK",
        "search_rerank",
        "0",
        "1 asks a model of the embedding provider, openai or gemini, in which order the best hits stand; it is sent "
        "the query and their names and descriptions",
        _switch,
    ),
    _setting(
        "SEARCH_RERANK_MODEL", "search_rerank_model", "", "The model that is asked; empty takes a small one", _text
    ),
    _setting(
        "MAX_FILE_BYTES",
        "max_file_bytes",
        "65536",
        "Bytes that one read_skill_file returns at most",
        _whole(4, _MEBIBYTES_64),
    ),
    _setting(
        "SKILLHUB_MAX_BODY_BYTES",
        "max_body_bytes",
        "131072",
        "Bytes of instructions that one load_skill returns at most; a longer body comes in parts",
        _whole(1024, _MEBIBYTES_64),
    ),
    _setting(
        "ALLOWED_COMMANDS",
        "allowed_commands",
        "python,uv,node,cat,ls,grep",
        "Commands that run_skill_command may run, by bare name",
        _commands,
    ),
    _setting(
        "EXEC_TIMEOUT_SECONDS",
        "exec_timeout_seconds",
        "60",
        "Seconds after which a command and its children are killed",
        _number(0.1, 86_400),
    ),
    _setting(
        "EXEC_MAX_OUTPUT_BYTES",
        "exec_max_output_bytes",
        "65536",
        "Bytes of stdout, and of stderr, that a command returns at most",
        _whole(1, _MEBIBYTES_64),
    ),
    _setting("LOG_LEVEL", "log_level", "INFO", "How much is logged to stderr: DEBUG, INFO, WARN or ERROR", _log_level),
    _setting(
        "SKILLHUB_ENABLED_SKILLS",
        "enabled_skills",
        "",
        "Names of the only skills to serve, separated by commas; decides alone when set",
        _names,
    ),
    _setting(
        "SKILLHUB_ENABLED_CATEGORIES",
        "enabled_categories",
        "",
        "Categories of the only skills to serve, separated by commas",
        _lower_names,
    ),
    _setting(
        "SKILLHUB_SKIP_AUTO_REINDEX",
        "skip_auto_reindex",
        "0",
        "1 serves the index as it was last written and looks for no changes",
        _switch,
    ),
    _setting(
        "SKILLHUB_STRICT", "strict", "0", "1 refuses every skill that breaks a rule of the specification", _switch
    ),
    _setting("SKILLHUB_ENABLE_RUN", "enable_run", "0", "1 offers run_skill_command over stdio", _switch),
    _setting(
        "SKILLHUB_ENABLE_RUN_OVER_HTTP",
        "enable_run_over_http",
        "0",
        "1, together with SKILLHUB_ENABLE_RUN, offers run_skill_command over HTTP too",
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
        "SKILLHUB_SERVE_DOTFILES", "serve_dotfiles", "0", "1 lets files whose names begin with a dot be read", _switch
    ),
    _setting(
        "SKILLHUB_ERROR_STYLE",
        "error_style",
        "result",
        "result answers a failed call with an error result, as MCP asks; jsonrpc with a JSON-RPC error",
        _choice("result", "jsonrpc"),
    ),
    _setting(
        "SKILLHUB_ALLOWED_HOSTS",
        "allowed_hosts",
        "",
        "Host names, besides those of this machine, that HTTP requests may be addressed to, separated by commas",
        _hosts,
    ),
    _setting(
        "SKILLHUB_ALLOWED_ORIGINS",
        "allowed_origins",
        "",
        "Origins, besides those of this machine, whose pages may call over HTTP, separated by commas",
        _origins,
    ),
    _setting(
        "SKILLHUB_ALLOW_ANONYMOUS",
        "allow_anonymous",
        "0",
        "1 lets a server that asks for no token listen on an address that other machines reach",
        _switch,
    ),
    _setting(
        "SKILLHUB_TOKEN",
        "token",
        "",
        "A bearer token that HTTP clients may send, for every skill; where it, SKILLHUB_TOKENS_FILE or "
        "SKILLHUB_JWT_ISSUER is set, a client must send one",
        _text,
        secret=True,
    ),
    _setting(
        "SKILLHUB_TOKENS_FILE",
        "tokens_file",
        "",
        "A file of hashed bearer tokens, each with the skills that its bearer may have; made by `skillhub token new`",
        _optional_path,
    ),
    _setting(
        "SKILLHUB_JWT_ISSUER",
        "jwt_issuer",
        "",
        "The issuer whose JSON Web Tokens HTTP clients may send; needs SKILLHUB_JWT_AUDIENCE. A token's claims "
        "skillhub_skills and skillhub_categories, lists of names, say which skills its bearer may have",
        _address,
    ),
    _setting("SKILLHUB_JWT_AUDIENCE", "jwt_audience", "", "The audience that such a token must be meant for", _text),
    _setting(
        "SKILLHUB_JWT_JWKS",
        "jwt_jwks",
        "",
        "The address of the issuer's keys; empty takes the issuer's /.well-known/jwks.json",
        _address,
    ),
    _setting(
        "SKILLHUB_PUBLIC_URL",
        "public_url",
        "",
        "The address of /mcp as clients reach it, such as https://skills.example.com/mcp; told in the metadata of the "
        "protected resource. Its host is welcome in requests",
        _mcp_address,
    ),
    _setting(
        "SKILLHUB_RATE_LIMIT",
        "rate_limit",
        "6000",
        "Requests a minute that one HTTP client may send, known by its token or else its address; 0 sets no limit",
        _whole(0, 1_000_000),
    ),
    _setting(
        "SKILLHUB_MAX_REQUEST_BYTES",
        "max_request_bytes",
        "1048576",
        "Bytes of an HTTP request's body beyond which it is refused",
        _whole(1_024, _MEBIBYTES_4),
    ),
    _setting(
        "SKILLHUB_TRUSTED_PROXIES",
        "trusted_proxies",
        "127.0.0.1,::1",
        "Addresses or networks of the proxies whose X-Forwarded-* headers are believed, separated by commas, or none",
        _networks,
    ),
    _setting(
        "SKILLHUB_STATELESS",
        "stateless",
        "0",
        "1 keeps no sessions of the older era, so that any of several workers can answer any request",
        _switch,
    ),
    _setting(
        "SKILLHUB_WORKERS",
        "workers",
        "1",
        "Processes that answer HTTP requests at one address; more than 1 needs SKILLHUB_STATELESS=1",
        _whole(1, 64),
    ),
    _setting(
        "SKILLHUB_LOG_FORMAT",
        "log_format",
        "text",
        "How the log on stderr is written: text, or json, one object a line",
        _choice("text", "json"),
    ),
    _setting(
        "SKILLHUB_AUDIT_LOG",
        "audit_log",
        "",
        "A file that each load, read and run of a skill is noted in, one JSON object a line; a server logs them too",
        _optional_path,
    ),
    _setting("SKILLHUB_METRICS", "metrics", "0", "1 offers /metrics for Prometheus over HTTP", _switch),
    _setting(
        "SKILLHUB_REGISTRY_MAX_LINES",
        "registry_max_lines",
        "200",
        "Lines of frontmatter beyond which a strict registry refuses a skill",
        _whole(1, 1_000_000),
    ),
    _setting(
        "SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS",
        "registry_max_line_characters",
        "500",
        "Characters in a line of frontmatter, but for the description's, beyond which a strict registry refuses it",
        _whole(1, 1_000_000),
    ),
    _setting(
        "SKILLHUB_SKILLS_ENABLED",
        "skills_enabled",
        "1",
        "0 leaves out the tools of the set context: no catalogue, no skill_search, no skill_load",
        _switch,
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_CATALOGUE_MAX_ENTRIES",
        "catalogue_max_entries",
        "200",
        "Skills that a catalogue lists at most",
        _whole(1, 1_000_000),
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_CATALOGUE_MAX_BYTES",
        "catalogue_max_bytes",
        "32768",
        "Bytes of UTF-8 that a catalogue takes at most: descriptions are shortened to fit, then skills are left out",
        _whole(1, _MEBIBYTES_64),
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_SKILL_SEARCH_LIMIT",
        "skill_search_limit",
        "8",
        "Skills that skill_search returns without a limit",
        _whole(1, 1_000),
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_SKILL_SEARCH_MAX_LIMIT",
        "skill_search_max_limit",
        "50",
        "Skills that skill_search returns at most, whatever limit is asked for",
        _whole(1, 1_000),
        forgiving=True,
    ),
    _setting(
        "SKILLHUB_INSTRUCTIONS_MAX_BYTES",
        "instructions_max_bytes",
        "2048",
        "Bytes that the server's instructions take at most; what the tools need comes first, then the skills",
        _whole(512, _MEBIBYTES_64),
    ),
    _setting(
        "SKILLHUB_CARD",
        "card",
        "full",
        "What the server's instructions tell of the skills: full describes those that always apply or fit the project "
        "and maps the domains of the rest, names only names them, off tells nothing, in the lists of other sets too",
        _choice("off", "names", "full"),
    ),
    _setting(
        "SKILLHUB_WEBSITE_URL",
        "website_url",
        "",
        "The address of a page about this hub, told to clients beside its name; empty tells the project's own, if any",
        _address,
    ),
    _setting(
        "SKILLHUB_AGENTS_CONFIG",
        "agents_config",
        "",
        "How AGENTS.md files are read: a JSON object, or the path of a file that holds one; empty takes the defaults",
        _text,
    ),
    _setting(
        "SKILLHUB_USAGE_LOG",
        "usage_log",
        "",
        "A file on this machine that searches, loads and reads are noted in, for `skillhub stats`; empty notes nothing",
        _optional_path,
    ),
    _setting(
        "SKILLHUB_PERMISSIONS",
        "permissions",
        "",
        "A file of rules that allow and deny, besides ~/.skillhub/permissions.json and the project's; must exist",
        _optional_path,
    ),
    _setting(
        "SKILLHUB_CHOICES",
        "choices",
        "~/.skillhub/choices.json",
        "Where it is kept which skills were switched off and on",
        _path,
    ),
    _setting(
        "SKILLHUB_HOOKS",
        "hooks",
        "",
        "A file of shell commands to run before and after each tool call: your own code, so it is never looked for "
        "anywhere else; empty runs none",
        _optional_path,
    ),
)


def read_settings(
    environment: Mapping[str, str], options: Mapping[str, str] | None = None
) -> tuple[Settings, tuple[SettingSource, ...]]:
    """Return the settings and where each value came from; `options` (by setting name) beat the environment.

    An empty variable counts as unset. Raises InvalidSetting, which names the setting, the value and what is
    allowed, for the first value that cannot be used or that misses its partner (seed 002 §8). A bad value of a
    forgiving setting is told by its `SettingSource.problem`.
    """
    values: dict[str, object] = {}
    origins: list[SettingSource] = []
    for setting in SETTINGS:
        origin = _origin(setting, environment, options or {})
        try:
            values[setting.field] = setting.read(origin.written)
        except ValueError as error:
            shown = "***" if setting.secret else origin.written
            if not setting.forgiving:
                raise InvalidSetting(setting.name, shown, str(error)) from error
            origin = SettingSource(setting, setting.default, "default", f"{setting.name}={shown!r} {error}")
            values[setting.field] = setting.read(setting.default)
        origins.append(origin)
    if not values["roots"]:
        chosen = next(origin for origin in origins if origin.setting.field == "skills_dirs").source != "default"
        values["roots"] = ("hub",) if chosen else ("project", "user", "hub")
    values["tools"] = values["tools"] or ("core",)
    values["search_fields"] = values["search_fields"] or FIELDS
    settings = Settings(**values)  # type: ignore[arg-type]  # the table has one row per field; a test holds that
    _check_partners(settings)
    return settings, tuple(origins)


def _origin(setting: Setting[object], environment: Mapping[str, str], options: Mapping[str, str]) -> SettingSource:
    if setting.name in options:
        return SettingSource(setting, options[setting.name], "option")
    for name in (setting.name, *setting.aliases):
        if environment.get(name):
            return SettingSource(setting, environment[name], f"environment ({name})")
    return SettingSource(setting, setting.default, "default")


def _check_partners(settings: Settings) -> None:
    for provider, key, name in (
        ("openai", settings.openai_api_key, "OPENAI_API_KEY"),
        ("gemini", settings.gemini_api_key, "GEMINI_API_KEY"),
    ):
        if settings.embedding_provider == provider and not key:
            raise InvalidSetting(
                "EMBEDDING_PROVIDER",
                provider,
                f"needs {name}, which is not set",
                hint=f"set {name}, or EMBEDDING_PROVIDER=none to search without embeddings",
            )
    if settings.search_rerank and settings.embedding_provider not in ("openai", "gemini"):
        raise InvalidSetting(
            "SEARCH_RERANK",
            "1",
            f"needs a provider to ask, and EMBEDDING_PROVIDER is {settings.embedding_provider}",
            hint="set EMBEDDING_PROVIDER to openai or gemini, or SEARCH_RERANK=0",
        )
