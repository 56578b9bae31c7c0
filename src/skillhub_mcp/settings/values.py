"""Every setting: its variable, default, meaning and allowed values, in frozen groups. Nothing is read here."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator
from pydantic.fields import FieldInfo

from skillhub_mcp.project import DEFAULT_MARKERS, ClientDirectories
from skillhub_mcp.settings import types

DEFAULT_SKILLS_DIR = "~/.skillhub/skills"
TOKEN_USES = "~/.skillhub/usage/tokens.jsonl"  # noqa: S105 - a path
DEFAULT_USAGE_LOG = "~/.skillhub/usage/log.jsonl"
TOOL_SETS = ("core", "context", "agents", "registry", "skill")
FIELDS = ("name", "description", "tags", "category", "body")
DEFAULT_PLACES = ("project", "user", "hub")
_PLACES = (*DEFAULT_PLACES, "builtin", "claude", "plugins")

Bytes = Annotated[int, Field(ge=1, le=64 * 1024 * 1024)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Limit = Annotated[int, Field(ge=1, le=1000)]
Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its variable `name` with `aliases`, and the `field` of the group `group` that holds its value.

    An invalid `forgiving` one counts as unset; a project's file may set a `project` one.
    """

    name: str
    default: str
    meaning: str
    aliases: tuple[str, ...] = ()
    secret: bool = False
    forgiving: bool = False
    project: bool = False
    group: str = ""
    field: str = ""
    info: FieldInfo | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that sets it, the first of which wins."""
        return (self.name, *self.aliases)


def setting(name: str, default: str, meaning: str, *, secret: bool = False, **flags: Any) -> Any:
    """Return the field of a setting. For the flags see `Setting`."""
    extra: Any = {"name": name, "default": default, "meaning": meaning, "secret": secret, **flags}
    return Field(default, repr=not secret, json_schema_extra=extra)


class Group(BaseModel):
    """Settings that belong together. The docstring of a group is its title."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, validate_default=True)

    @field_validator("*", mode="before")
    @classmethod
    def _is_expanded(cls, value: object) -> object:
        return types.check_expanded(value) if isinstance(value, str) else value


class SkillSettings(Group):
    """Skills: where they are found and which are refused."""

    # Whether SKILLHUB_ROOTS was set: SKILLS_DIR alone also sets `roots`.
    roots_given: bool = False
    dirs: types.Directories = setting(
        "SKILLS_DIR", DEFAULT_SKILLS_DIR, "Directories that hold skills, separated as in PATH; the first wins a name"
    )
    roots: Annotated[tuple[str, ...], types.some_of(*_PLACES, default=DEFAULT_PLACES)] = setting(
        "SKILLHUB_ROOTS",
        "",
        f"Places to search: {', '.join(_PLACES)}; empty means the first three, or hub with SKILLS_DIR",
    )
    cwd: str = setting("SKILLHUB_CWD", "", "Working directory that the project is found from", forgiving=True)
    project_root: str = setting(
        "SKILLHUB_PROJECT_ROOT",
        "",
        "Root of the project; empty means the nearest directory with a marker",
        aliases=("CODELIA_AGENTS_ROOT",),
    )
    markers: types.Names = setting(
        "SKILLHUB_MARKERS",
        ",".join(DEFAULT_MARKERS),
        "Names of files or directories that mark the root of a project",
        aliases=("CODELIA_AGENTS_MARKERS",),
    )
    strict: types.Switch = setting("SKILLHUB_STRICT", "0", "1 refuses skills that break the specification")
    registry_max_lines: Count = setting(
        "SKILLHUB_REGISTRY_MAX_LINES", "200", "Most lines of frontmatter in a strict registry"
    )
    registry_max_line_characters: Count = setting(
        "SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS", "500", "Maximum line length of frontmatter in the strict registry"
    )

    @property
    def dirs_given(self) -> bool:
        """Whether SKILLS_DIR was set."""
        return "dirs" in self.model_fields_set


class PolicySettings(Group):
    """Policy: which skills are served."""

    # None serves all; an empty set serves none.
    enabled_skills: types.NameSet = setting(
        "SKILLHUB_ENABLED_SKILLS", "", "The only skills to serve: names, globs, groups; overrides categories"
    )
    enabled_categories: types.LowerNameSet = setting("SKILLHUB_ENABLED_CATEGORIES", "", "The only categories to serve")
    trust: types.Word[Literal["limited", "ask", "all", "none"]] = setting(
        "SKILLHUB_TRUST", "limited", "How skills of untrusted projects are treated: limited, ask, all (trusted), none"
    )
    audit: types.Word[Literal["warn", "block", "off"]] = setting(
        "SKILLHUB_AUDIT", "warn", "What findings do: warn, block (withhold skills with a critical one) or off"
    )
    frozen: types.Word[Literal["0", "1", "only"]] = setting(
        "SKILLHUB_FROZEN", "0", "1 withholds skills that differ from their lock; only also those in no lock"
    )


class DisclosureSettings(Group):
    """Disclosure: tools, results and catalogues."""

    tools: Annotated[tuple[str, ...], types.some_of(*TOOL_SETS)] = setting(
        "SKILLHUB_TOOLS", "core", f"Sets of tools to offer: {', '.join(TOOL_SETS)}, separated by commas, or all"
    )
    max_file_bytes: Bytes = setting("MAX_FILE_BYTES", "65536", "Maximum bytes in one read_skill_file result")
    serve_dotfiles: types.Switch = setting("SKILLHUB_SERVE_DOTFILES", "0", "1 serves files that start with a dot")
    expose_paths: types.Switch = setting("SKILLHUB_EXPOSE_PATHS", "0", "1 returns absolute paths over HTTP too")
    error_style: types.Word[Literal["result", "jsonrpc"]] = setting(
        "SKILLHUB_ERROR_STYLE", "result", "How a call fails: an error result, as MCP recommends, or a jsonrpc error"
    )
    card: types.Word[Literal["off", "names", "full"]] = setting(
        "SKILLHUB_CARD", "full", "What the server's instructions say about skills: full, names or off", project=True
    )
    closing: types.Word[Literal["en", "ja"]] = setting(
        "SKILLHUB_SKILL_CLOSING", "en", "Language of the last sentence of the Skill tool: en, or ja, for some hosts"
    )
    catalogue_max_entries: Count = setting(
        "SKILLHUB_CATALOGUE_MAX_ENTRIES", "200", "Maximum skills in a catalogue", forgiving=True, project=True
    )
    catalogue_max_bytes: Bytes = setting(
        "SKILLHUB_CATALOGUE_MAX_BYTES", "32768", "Maximum bytes in a catalogue", forgiving=True, project=True
    )
    skills_enabled: types.Switch = setting(
        "SKILLHUB_SKILLS_ENABLED", "1", "0 removes the agent-context tools and their catalogue", forgiving=True
    )
    skill_search_limit: Limit = setting(
        "SKILLHUB_SKILL_SEARCH_LIMIT", "8", "Hits of skill_search without a limit", forgiving=True, project=True
    )
    agents_config: str = setting("SKILLHUB_AGENTS_CONFIG", "", "AGENTS.md configuration: JSON, or the path of a file")


class SearchSettings(Group):
    """Search"""

    limit: Annotated[int, Field(ge=1, le=100)] = setting("SEARCH_LIMIT", "10", "Maximum hits of a search", project=True)
    threshold: Share = setting("SEARCH_THRESHOLD", "0.2", "Hits below this share of the best are cut", project=True)
    confidence: Share = setting("SEARCH_CONFIDENCE", "0.2", "Lowest score of a fit; 0 returns every hit", project=True)
    mode: types.Word[Literal["auto", "fts", "vector", "hybrid"]] = setting(
        "SEARCH_MODE", "auto", "Search by fts (full text), vector, hybrid, or auto, the best measured combination"
    )
    fields: Annotated[tuple[str, ...], types.some_of(*FIELDS)] = setting(
        "SEARCH_FIELDS", "all", f"Fields to search: {', '.join(FIELDS)}, separated by commas, or all", project=True
    )
    rerank: Annotated[Literal["0", "1", "local"], types.SWITCH_WORD] = setting(
        "SEARCH_RERANK", "0", "Reorder the best hits: 0, 1 (provider) or local (a model)"
    )
    rerank_model: str = setting("SEARCH_RERANK_MODEL", "", "Model that reorders; a directory if local")


class EmbeddingSettings(Group):
    """Embeddings"""

    provider: types.Word[Literal["auto", "none", "local", "onnx", "openai", "gemini"]] = setting(
        "EMBEDDING_PROVIDER",
        "auto",
        "local (word vectors), onnx (your own model), openai and gemini (which are sent names, descriptions, tags, "
        "categories and queries), none, or auto: local if installed",
    )
    model: str = setting("EMBEDDING_MODEL", "", "Model of the provider; with onnx its directory")
    base_url: types.HttpAddress = setting("EMBEDDING_BASE_URL", "", "URL of another server with the provider's API")
    openai_api_key: str = setting("OPENAI_API_KEY", "", "Required if EMBEDDING_PROVIDER=openai", secret=True)
    gemini_api_key: str = setting(
        "GEMINI_API_KEY", "", "Required if EMBEDDING_PROVIDER=gemini", aliases=("GOOGLE_API_KEY",), secret=True
    )

    @property
    def api_key(self) -> str:
        """The key of the chosen provider, or an empty text."""
        return {"openai": self.openai_api_key, "gemini": self.gemini_api_key}.get(self.provider, "")


class IndexSettings(Group):
    """Index"""

    db_path: types.Database = setting(
        "SKILLHUB_DB_PATH",
        "~/.skillhub/skills.lancedb",
        "Path of the index; with SKILLHUB_READ_ONLY=1 a publication: its directory, or s3://, gs://, az://",
        aliases=("DB_PATH",),
    )
    skip_auto_reindex: types.Switch = setting("SKILLHUB_SKIP_AUTO_REINDEX", "0", "1 serves the index without updates")


class StorageSettings(Group):
    """Storage: publications in buckets."""

    options: types.StorageOptions = setting("SKILLHUB_STORAGE_OPTIONS", "", "Bucket options: key=value", secret=True)


class ReplicaSettings(Group):
    """Replicas: serving a publication."""

    read_only: types.Switch = setting("SKILLHUB_READ_ONLY", "0", "1 serves the publication in SKILLHUB_DB_PATH")
    refresh_seconds: Annotated[float, Field(ge=0.2, le=86_400)] = setting(
        "SKILLHUB_REFRESH_SECONDS", "30", "Seconds between looks for a publication"
    )
    mirror_dir: types.LocalPath = setting("SKILLHUB_MIRROR_DIR", "~/.skillhub/mirrors", "Directory of local mirrors")


class ExecutionSettings(Group):
    """Execution: commands and hooks."""

    enable_run: types.Switch = setting("SKILLHUB_ENABLE_RUN", "0", "1 offers run_skill_command over stdio")
    allowed_commands: types.CommandNames = setting(
        "ALLOWED_COMMANDS", "python,uv,node,cat,ls,grep", "Commands that skills may run, separated by commas"
    )
    sandbox: types.Word[Literal["bubblewrap", "off"]] = setting(
        "SKILLHUB_SANDBOX", "bubblewrap", "What confines commands; off lets a command do whatever you may"
    )
    output_dirs: types.OptionalDirectories = setting("SKILLHUB_OUTPUT_DIRS", "", "Directories for outputs of commands")
    timeout_seconds: Annotated[float, Field(ge=0.1, le=86_400)] = setting(
        "EXEC_TIMEOUT_SECONDS", "60", "Seconds after which a command and its children are killed"
    )
    max_output_bytes: Bytes = setting("EXEC_MAX_OUTPUT_BYTES", "65536", "Maximum bytes of stdout, and of stderr")
    hooks: types.OptionalPath = setting("SKILLHUB_HOOKS", "", "File of shell commands to run around tool calls")


class HttpSettings(Group):
    """HTTP: authentication, limits and processes."""

    token: types.BearerToken = setting("SKILLHUB_TOKEN", "", "Bearer token that grants every skill", secret=True)
    tokens_file: types.OptionalPath = setting("SKILLHUB_TOKENS_FILE", "", "File of tokens that `skillhub token` writes")
    jwt_issuer: types.HttpAddress = setting(
        "SKILLHUB_JWT_ISSUER", "", "Issuer of accepted JSON Web Tokens; their claim skillhub_skills limits the skills"
    )
    jwt_audience: str = setting("SKILLHUB_JWT_AUDIENCE", "", "Audience that the JSON Web Tokens must name")
    jwt_jwks: types.HttpAddress = setting("SKILLHUB_JWT_JWKS", "", "URL of the issuer's keys; by default well-known")
    public_url: types.McpAddress = setting("SKILLHUB_PUBLIC_URL", "", "URL of /mcp for clients; its host is allowed")
    allowed_hosts: types.HostNames = setting("SKILLHUB_ALLOWED_HOSTS", "", "Other host names that requests may name")
    allowed_origins: types.WebOrigins = setting("SKILLHUB_ALLOWED_ORIGINS", "", "Web origins whose pages may call")
    # None means auto.
    trusted_proxies: types.IpNetworks = setting(
        "SKILLHUB_TRUSTED_PROXIES",
        "auto",
        "IP addresses or networks of proxies; none; or auto, this machine's if SKILLHUB_PUBLIC_URL begins with https",
    )
    rate_limit: Annotated[int, Field(ge=0, le=1_000_000)] = setting(
        "SKILLHUB_RATE_LIMIT", "6000", "Maximum requests per minute of one token or address; 0 means no limit"
    )
    max_connections: Annotated[int, Field(ge=4, le=100_000)] = setting(
        "SKILLHUB_MAX_CONNECTIONS", "512", "Maximum connections of a process; others are answered with 503"
    )
    allow_anonymous: types.Switch = setting("--allow-anonymous", "0", "")
    enable_run_over_http: types.Switch = setting("--enable-run-over-http", "0", "")
    workers: Annotated[int, Field(ge=1, le=64)] = setting("--workers", "1", "")
    well_known: types.Switch = setting("SKILLHUB_WELL_KNOWN", "0", "1 serves /.well-known/agent-skills/ for installing")


class LibrarySettings(Group):
    """Library: installing skills."""

    source_tokens: types.SourceTokens = setting("SKILLHUB_SOURCE_TOKENS", "", "Site tokens: host=token", secret=True)
    require_signed: types.Switch = setting("SKILLHUB_REQUIRE_SIGNED", "0", "1 installs only what is signed (SSH)")


class ObservabilitySettings(Group):
    """Observability: logs and metrics."""

    log_level: types.LogLevel = setting(
        "SKILLHUB_LOG_LEVEL", "INFO", "Level of the log on stderr: DEBUG, INFO, WARN, ERROR", aliases=("LOG_LEVEL",)
    )
    log_format: types.Word[Literal["text", "json"]] = setting(
        "SKILLHUB_LOG_FORMAT", "text", "Format of the log on stderr: text, or json, one object per line"
    )
    audit_log: types.OptionalPath = setting("SKILLHUB_AUDIT_LOG", "", "File that records each load, read and run")
    metrics: Annotated[Literal["0", "1", "tokens"], types.SWITCH_WORD] = setting(
        "SKILLHUB_METRICS", "0", "1 serves /metrics for Prometheus; tokens also counts requests by token"
    )
    usage: types.Word[Literal["off", "counts", "queries"]] = setting(
        "SKILLHUB_USAGE", "counts", "What is recorded for `skillhub stats`: off, counts, or queries with their texts"
    )
    usage_log: types.OptionalPath = setting(
        "SKILLHUB_USAGE_LOG", "", f"File of that record; empty means {DEFAULT_USAGE_LOG}. Never sent"
    )


class Settings(BaseModel):
    """All settings as values, in groups: what everything else is built from."""

    model_config = ConfigDict(frozen=True)

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
    # Shared by all copies, since the client of a running server may change its directories.
    _client: ClientDirectories = PrivateAttr(default_factory=ClientDirectories)

    @property
    def client(self) -> ClientDirectories:
        """Where the client of this process works; empty unless it is a server over stdio."""
        return self._client


_MODELS: dict[str, Any] = {name: info.annotation for name, info in Settings.model_fields.items()}
# With the options of `serve`.
EVERY = tuple(
    Setting(**info.json_schema_extra, group=name, field=field, info=info)
    for name, model in _MODELS.items()
    for field, info in model.model_fields.items()
    if info.json_schema_extra
)
SETTINGS = tuple(one for one in EVERY if not one.name.startswith("--"))
# By the titles of their groups.
GROUPS: dict[str, tuple[Setting, ...]] = {
    model.__doc__.rstrip("."): tuple(one for one in SETTINGS if one.group == name) for name, model in _MODELS.items()
}
BY_NAME = {name: one for one in SETTINGS for name in one.names}
