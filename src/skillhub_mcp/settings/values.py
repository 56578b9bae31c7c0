"""Every setting: its variable, default, meaning and allowed values, in frozen groups. Nothing is read here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from skillhub_mcp.project import DEFAULT_MARKERS
from skillhub_mcp.settings.parsing import (
    LOWER,
    BearerToken,
    CommandNames,
    Database,
    Directories,
    HostNames,
    HttpAddress,
    IpNetworks,
    LocalPath,
    LogLevel,
    LowerNameSet,
    McpAddress,
    Names,
    NameSet,
    OptionalDirectories,
    OptionalPath,
    Rerank,
    SourceTokens,
    StorageOptions,
    Switch,
    WebOrigins,
    check_expanded,
    some_of,
)

DEFAULT_SKILLS_DIR = "~/.skillhub/skills"
TOOL_SETS = ("core", "context", "agents", "registry", "skill")
FIELDS = ("name", "description", "tags", "category", "body")
DEFAULT_PLACES = ("project", "user", "hub")
_PLACES = (*DEFAULT_PLACES, "builtin", "claude")
_MEBIBYTES_64 = 64 * 1024 * 1024

Bytes = Annotated[int, Field(ge=1, le=_MEBIBYTES_64)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Share = Annotated[float, Field(ge=0, le=1)]


def setting(
    name: str,
    default: str,
    meaning: str,
    *,
    aliases: tuple[str, ...] = (),
    secret: bool = False,
    forgiving: bool = False,
    project: bool = False,
) -> Any:
    """Return the field of the setting with the variable `name`.

    A `secret` is never shown. An invalid value of a `forgiving` one is reported, and the default is used. A `project`
    one may be set by a project's settings file.
    """
    rest: dict[str, Any] = {"aliases": aliases, "secret": secret, "forgiving": forgiving, "project": project}
    return Field(default, title=name, description=meaning, repr=not secret, json_schema_extra=rest)


class Group(BaseModel):
    """Settings that belong together; `title` is for people."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, validate_default=True)
    title: ClassVar[str]

    @field_validator("*", mode="before")
    @classmethod
    def _is_expanded(cls, value: object) -> object:
        return check_expanded(value) if isinstance(value, str) else value


class SkillSettings(Group):
    """Where skills are found, and which are refused. `dirs` have `~` expanded; `roots` is never empty.

    `dirs_given` and `roots_given` say whether a person set these two, rather than leave them at their defaults, and
    `project_root_given` by which of its names the project's root is set.
    """

    title: ClassVar[str] = "Skills: where they are found and which are refused"

    dirs_given: bool = False
    roots_given: bool = False
    project_root_given: str = ""
    dirs: Directories = setting(
        "SKILLS_DIR",
        DEFAULT_SKILLS_DIR,
        "Directories that hold skills, separated as in PATH; of two skills with one name, the earlier directory's wins",
    )
    roots: Annotated[tuple[str, ...], some_of(*_PLACES, default=DEFAULT_PLACES)] = setting(
        "SKILLHUB_ROOTS",
        "",
        "Places to search: one or more of project, user, hub (SKILLS_DIR), builtin and claude, separated by "
        "commas. Empty means project,user,hub and what `skillhub roots add` recorded, or hub alone where "
        "SKILLS_DIR is set",
    )
    cwd: str = setting(
        "SKILLHUB_CWD",
        "",
        "Working directory to find the project's skills from; empty means that of the process",
        forgiving=True,
    )
    project_root: str = setting(
        "SKILLHUB_PROJECT_ROOT",
        "",
        "Root directory of the project; empty means the nearest directory with a marker, from the working directory up",
        aliases=("CODELIA_AGENTS_ROOT",),
    )
    markers: Names = setting(
        "SKILLHUB_MARKERS",
        ",".join(DEFAULT_MARKERS),
        "Names of files or directories that mark the root of a project, separated by commas",
        aliases=("CODELIA_AGENTS_MARKERS",),
    )
    strict: Switch = setting("SKILLHUB_STRICT", "0", "1 refuses every skill that breaks a rule of the specification")
    registry_max_lines: Count = setting(
        "SKILLHUB_REGISTRY_MAX_LINES",
        "200",
        "Maximum lines of frontmatter; the strict registry refuses a skill with more",
    )
    registry_max_line_characters: Count = setting(
        "SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS",
        "500",
        "Maximum characters in a line of frontmatter, except the description's; the strict registry refuses a "
        "skill with a longer one",
    )


class PolicySettings(Group):
    """Which skills are served.

    Names or categories are None where they are not set; where they are and name nothing, nothing is served. `trust` is
    the name of a `policy.trust.TrustMode`.
    """

    title: ClassVar[str] = "Policy: which skills are served"

    enabled_skills: NameSet = setting(
        "SKILLHUB_ENABLED_SKILLS",
        "",
        "Names of the only skills to serve, separated by commas; if set, SKILLHUB_ENABLED_CATEGORIES has no "
        "effect. A text without a name, such as a comma, serves nothing",
    )
    enabled_categories: LowerNameSet = setting(
        "SKILLHUB_ENABLED_CATEGORIES",
        "",
        "Categories of the only skills to serve, separated by commas; a text without one serves nothing",
    )
    trust: Annotated[Literal["limited", "ask", "all", "none"], LOWER] = setting(
        "SKILLHUB_TRUST",
        "limited",
        "What becomes of a project's skills until you agree to them with `skillhub trust`: limited (found and "
        "loaded; they take no name of yours, are never pinned, and only counted on the card), ask (also asks "
        "before each is loaded), all (every project is trusted) or none (left out)",
    )
    audit: Annotated[Literal["warn", "block", "off"], LOWER] = setting(
        "SKILLHUB_AUDIT",
        "warn",
        "What becomes of what `skillhub audit` finds: warn (search_skills and load_skill say it, from high "
        "severity), block (skills with a critical finding are also withheld, until you accept it) or off (no "
        "skill is audited)",
    )
    frozen: Annotated[Literal["0", "1", "only"], LOWER] = setting(
        "SKILLHUB_FROZEN",
        "0",
        "1 withholds a skill that a lock (`skillhub lock`) names and whose files are not those that were "
        "locked, until they are again; only withholds what no lock names, too",
    )


class DisclosureSettings(Group):
    """Which tools are offered, and how much of the skills they, the catalogue and the instructions disclose."""

    title: ClassVar[str] = "Disclosure: tools, results and catalogues"

    tools: Annotated[tuple[str, ...], some_of(*TOOL_SETS)] = setting(
        "SKILLHUB_TOOLS",
        "core",
        f"Sets of tools to offer: one or more of {', '.join(TOOL_SETS)}, separated by commas, or all",
    )
    max_file_bytes: Annotated[int, Field(ge=4, le=_MEBIBYTES_64)] = setting(
        "MAX_FILE_BYTES", "65536", "Maximum bytes in one read_skill_file result"
    )
    serve_dotfiles: Switch = setting(
        "SKILLHUB_SERVE_DOTFILES", "0", "1 allows reading files whose names start with a dot"
    )
    expose_paths: Switch = setting(
        "SKILLHUB_EXPOSE_PATHS",
        "0",
        "1 returns the skill's absolute path over HTTP too; over stdio it is always returned",
    )
    error_style: Annotated[Literal["result", "jsonrpc"], LOWER] = setting(
        "SKILLHUB_ERROR_STYLE",
        "result",
        "How a failed call is answered: result, an error result, as MCP recommends; or jsonrpc, a JSON-RPC error",
    )
    card: Annotated[Literal["off", "names", "full"], LOWER] = setting(
        "SKILLHUB_CARD",
        "full",
        "What the server's instructions say about the skills: full describes pinned skills and those that fit "
        "the project and maps the domains of the rest; names only names them; off says nothing, in the lists of "
        "other sets too",
        project=True,
    )
    catalogue_max_entries: Count = setting(
        "SKILLHUB_CATALOGUE_MAX_ENTRIES",
        "200",
        "Maximum skills in a catalogue",
        forgiving=True,
        project=True,
    )
    catalogue_max_bytes: Bytes = setting(
        "SKILLHUB_CATALOGUE_MAX_BYTES",
        "32768",
        "Maximum bytes of UTF-8 in a catalogue: descriptions are shortened to fit, then skills are left out",
        forgiving=True,
        project=True,
    )
    skills_enabled: Switch = setting(
        "SKILLHUB_SKILLS_ENABLED",
        "1",
        "0 removes the agent-context tools (set context): no catalogue, no skill_search, no skill_load",
        forgiving=True,
    )
    skill_search_limit: Annotated[int, Field(ge=1, le=1000)] = setting(
        "SKILLHUB_SKILL_SEARCH_LIMIT",
        "8",
        "Maximum hits of skill_search where the call gives no limit",
        forgiving=True,
        project=True,
    )
    skill_search_max_limit: Annotated[int, Field(ge=1, le=1000)] = setting(
        "SKILLHUB_SKILL_SEARCH_MAX_LIMIT",
        "50",
        "Maximum hits of skill_search whatever limit the call gives",
        forgiving=True,
        project=True,
    )
    agents_config: str = setting(
        "SKILLHUB_AGENTS_CONFIG",
        "",
        "How AGENTS.md files are read: a JSON object, or the path of a file with one; empty means the defaults",
    )


class SearchSettings(Group):
    """How `search_skills` finds, orders and cuts hits.

    `rerank` is what orders the best: nothing, a model of the embedding provider, or the one at `rerank_model`.
    """

    title: ClassVar[str] = "Search"

    limit: Annotated[int, Field(ge=1, le=100)] = setting("SEARCH_LIMIT", "10", "Maximum hits of a search", project=True)
    threshold: Share = setting(
        "SEARCH_THRESHOLD",
        "0.2",
        "If there are more than five hits, those below this share of the best score are left out",
        project=True,
    )
    confidence: Share = setting(
        "SEARCH_CONFIDENCE",
        "0.2",
        "Score from which the first hit counts as a fit; below it all are near misses, and far below it only "
        "five are returned. 0 returns every hit that SEARCH_LIMIT and SEARCH_THRESHOLD allow",
        project=True,
    )
    mode: Annotated[Literal["auto", "fts", "vector", "hybrid"], LOWER] = setting(
        "SEARCH_MODE", "auto", "Search by fts (full text), vector, hybrid, or auto, the best measured combination"
    )
    fields: Annotated[tuple[str, ...], some_of(*FIELDS)] = setting(
        "SEARCH_FIELDS",
        "all",
        "Fields of a skill to search: one or more of name, description, tags, category, body, separated by "
        "commas, or all",
        project=True,
    )
    rerank: Rerank = setting(
        "SEARCH_RERANK",
        "0",
        "What reorders the best hits: 0 nothing, 1 a model of the embedding provider, openai or gemini, which "
        "is sent the query and their names and descriptions, local the cross-encoder in SEARCH_RERANK_MODEL",
    )
    rerank_model: str = setting(
        "SEARCH_RERANK_MODEL",
        "",
        "Model that reorders; empty means a small one. With SEARCH_RERANK=local, a cross-encoder's directory, with "
        "tokenizer.json and model.onnx",
    )


class EmbeddingSettings(Group):
    """The embedding provider. An empty `model` or `base_url` is the provider's default.

    With `onnx`, `model` is the directory of a sentence encoder.
    """

    title: ClassVar[str] = "Embeddings"

    provider: Annotated[Literal["auto", "none", "local", "onnx", "openai", "gemini"], LOWER] = setting(
        "EMBEDDING_PROVIDER",
        "auto",
        "Provider of the embeddings: local (word vectors on this machine), onnx (a sentence encoder of yours, "
        "in this process), openai, gemini, none, or auto, which is local if installed and none otherwise. Only "
        "openai and gemini send data: names, descriptions, tags, categories and queries, never bodies",
    )
    model: str = setting(
        "EMBEDDING_MODEL",
        "",
        "Model of the provider; empty means its default. With onnx, the directory of a sentence encoder, with "
        "tokenizer.json and model.onnx",
    )
    base_url: HttpAddress = setting(
        "EMBEDDING_BASE_URL", "", "URL of another server with the provider's API; empty means the provider's own"
    )
    openai_api_key: str = setting("OPENAI_API_KEY", "", "Required if EMBEDDING_PROVIDER=openai", secret=True)
    gemini_api_key: str = setting(
        "GEMINI_API_KEY", "", "Required if EMBEDDING_PROVIDER=gemini", aliases=("GOOGLE_API_KEY",), secret=True
    )

    @property
    def api_key(self) -> str:
        """The key of the chosen provider, or an empty text."""
        return {"openai": self.openai_api_key, "gemini": self.gemini_api_key}.get(self.provider, "")


class IndexSettings(Group):
    """The index: the path of its database, and whether it follows the files.

    For a replica the path is that of a publication: a directory, or the URL of a bucket.
    """

    title: ClassVar[str] = "Index"

    db_path: Database = setting(
        "SKILLHUB_DB_PATH",
        "~/.skillhub/skills.lancedb",
        "Path of the index database; with SKILLHUB_READ_ONLY=1 a publication: its directory, or s3://, gs://, az://",
        aliases=("DB_PATH",),
    )
    skip_auto_reindex: Switch = setting(
        "SKILLHUB_SKIP_AUTO_REINDEX", "0", "1 serves the index as it was last written and does not look for changes"
    )


class StorageSettings(Group):
    """Publications in object storage: how the bucket is reached. The options may have credentials."""

    title: ClassVar[str] = "Storage: publications in buckets"

    options: StorageOptions = setting(
        "SKILLHUB_STORAGE_OPTIONS",
        "",
        "How the bucket of a publication (s3://, gs://, az://) is reached: key=value, separated by commas, such "
        "as region=eu-central-1,endpoint=https://s3.example.com. What is not named comes from AWS_*, GOOGLE_* "
        "or AZURE_*",
        secret=True,
    )


class ReplicaSettings(Group):
    """Serving a publication: whether that is done, how often it is looked for another, and its mirror."""

    title: ClassVar[str] = "Replicas: serving a publication"

    read_only: Switch = setting(
        "SKILLHUB_READ_ONLY",
        "0",
        "1 serves the publication that SKILLHUB_DB_PATH names, and looks into no skills directory",
    )
    refresh_seconds: Annotated[float, Field(ge=0.2, le=86_400)] = setting(
        "SKILLHUB_REFRESH_SECONDS",
        "30",
        "Seconds within which a replica serves what was published; after failures it asks less often",
    )
    mirror_dir: LocalPath = setting(
        "SKILLHUB_MIRROR_DIR",
        "~/.skillhub/mirrors",
        "Directory in which replicas keep a local mirror of each publication; several may share it",
    )


class ExecutionSettings(Group):
    """Running commands of skills, and hooks. `hooks` is empty or a path."""

    title: ClassVar[str] = "Execution: commands and hooks"

    enable_run: Switch = setting("SKILLHUB_ENABLE_RUN", "0", "1 offers run_skill_command over stdio")
    allowed_commands: CommandNames = setting(
        "ALLOWED_COMMANDS",
        "python,uv,node,cat,ls,grep",
        "Commands that run_skill_command may run, by name, separated by commas",
    )
    sandbox: Annotated[Literal["bubblewrap", "off"], LOWER] = setting(
        "SKILLHUB_SANDBOX",
        "bubblewrap",
        "What confines the commands of run_skill_command. If bubblewrap does not work here, commands are "
        "refused. off confines nothing: a command may do what you may",
    )
    output_dirs: OptionalDirectories = setting(
        "SKILLHUB_OUTPUT_DIRS",
        "",
        "Directories below which an agent may name an output directory for a command, which the command may "
        "then read and write. Empty: a command writes only to a private directory of its session. Separated as "
        "in PATH",
    )
    timeout_seconds: Annotated[float, Field(ge=0.1, le=86_400)] = setting(
        "EXEC_TIMEOUT_SECONDS", "60", "Seconds after which a command and its children are killed"
    )
    max_output_bytes: Bytes = setting(
        "EXEC_MAX_OUTPUT_BYTES",
        "65536",
        "Maximum bytes of stdout, and of stderr, that a command returns",
    )
    hooks: OptionalPath = setting(
        "SKILLHUB_HOOKS",
        "",
        "File of shell commands to run before and after each tool call, and before whatever else hands out a "
        "skill. No other file of hooks is ever read; empty runs none",
    )


class HttpSettings(Group):
    """Serving over HTTP: authentication, allowed hosts and origins, limits, proxies and processes.

    `trusted_proxies` is None where they follow from `public_url`. What starts with `--` is an option of `serve` only.
    """

    title: ClassVar[str] = "HTTP: authentication, limits and processes"

    token: BearerToken = setting(
        "SKILLHUB_TOKEN",
        "",
        "Bearer token that grants HTTP clients every skill. If this, SKILLHUB_TOKENS_FILE or "
        "SKILLHUB_JWT_ISSUER is set, every client must send a token",
        secret=True,
    )
    tokens_file: OptionalPath = setting(
        "SKILLHUB_TOKENS_FILE",
        "",
        "File of hashed bearer tokens, each with the skills that it grants; `skillhub token new` writes it",
    )
    jwt_issuer: HttpAddress = setting(
        "SKILLHUB_JWT_ISSUER",
        "",
        "Issuer whose JSON Web Tokens are accepted; requires SKILLHUB_JWT_AUDIENCE. The claims skillhub_skills "
        "and skillhub_categories, lists of names, limit the skills that a token grants",
    )
    jwt_audience: str = setting("SKILLHUB_JWT_AUDIENCE", "", "Audience that the JSON Web Tokens must name")
    jwt_jwks: HttpAddress = setting(
        "SKILLHUB_JWT_JWKS", "", "URL of the issuer's keys; empty means the issuer's /.well-known/jwks.json"
    )
    public_url: McpAddress = setting(
        "SKILLHUB_PUBLIC_URL",
        "",
        "URL of /mcp as clients reach it, such as https://skills.example.com/mcp, for the protected resource "
        "metadata; its host and origin are allowed",
    )
    allowed_hosts: HostNames = setting(
        "SKILLHUB_ALLOWED_HOSTS",
        "",
        "Host names that requests may be addressed to, in addition to this machine's, separated by commas",
    )
    allowed_origins: WebOrigins = setting(
        "SKILLHUB_ALLOWED_ORIGINS",
        "",
        "Origins whose pages may call in a browser, this machine's too (http://localhost:5173), separated by commas",
    )
    trusted_proxies: IpNetworks = setting(
        "SKILLHUB_TRUSTED_PROXIES",
        "auto",
        "IP addresses or networks of proxies whose X-Forwarded-* headers are trusted, separated by commas; "
        "none; or auto, this machine's if SKILLHUB_PUBLIC_URL begins with https, and none otherwise",
    )
    rate_limit: Annotated[int, Field(ge=0, le=1_000_000)] = setting(
        "SKILLHUB_RATE_LIMIT",
        "6000",
        "Maximum requests per minute of one client, identified by its token or else its address; 0 means no limit",
    )
    max_connections: Annotated[int, Field(ge=4, le=100000)] = setting(
        "SKILLHUB_MAX_CONNECTIONS",
        "512",
        "Maximum connections of a process; beyond it, requests are answered with 503",
    )
    allow_anonymous: Switch = setting("--allow-anonymous", "0", "")
    enable_run_over_http: Switch = setting("--enable-run-over-http", "0", "")
    workers: Annotated[int, Field(ge=1, le=64)] = setting("--workers", "1", "")
    well_known: Switch = setting(
        "SKILLHUB_WELL_KNOWN",
        "0",
        "1 serves the skills for installing elsewhere: /.well-known/agent-skills/index.json, to each caller theirs",
    )


class LibrarySettings(Group):
    """Installing skills: bearer tokens for sites that ask for one, by host or host:port, and who must have signed."""

    title: ClassVar[str] = "Library: installing skills"

    source_tokens: SourceTokens = setting(
        "SKILLHUB_SOURCE_TOKENS",
        "",
        "Bearer tokens for sites that skills are installed from, as a team's hub: host=token, separated by "
        "commas. A token is sent to its host only, over https or on this machine",
        secret=True,
    )
    require_signed: Switch = setting(
        "SKILLHUB_REQUIRE_SIGNED",
        "0",
        "1 lets `skillhub add` and `update` install only what a signer in ~/.skillhub/allowed_signers signed (SSH)",
    )


class ObservabilitySettings(Group):
    """Logs, the audit log, metrics and the usage log. An empty path writes no such file."""

    title: ClassVar[str] = "Observability: logs and metrics"

    log_level: LogLevel = setting(
        "SKILLHUB_LOG_LEVEL",
        "INFO",
        "Minimum level logged to stderr: DEBUG, INFO, WARN or ERROR",
        aliases=("LOG_LEVEL",),
    )
    log_format: Annotated[Literal["text", "json"], LOWER] = setting(
        "SKILLHUB_LOG_FORMAT", "text", "Format of the log on stderr: text, or json, one object per line"
    )
    audit_log: OptionalPath = setting(
        "SKILLHUB_AUDIT_LOG",
        "",
        "File that records each load, read and run of a skill, one JSON object per line; a server also logs them",
    )
    metrics: Switch = setting("SKILLHUB_METRICS", "0", "1 serves /metrics for Prometheus over HTTP")
    usage_log: OptionalPath = setting(
        "SKILLHUB_USAGE_LOG",
        "",
        "File that records searches, loads and reads, for `skillhub stats`; empty records nothing. It is never sent",
    )


class Settings(BaseSettings):
    """All settings as values, in groups: what everything else is built from."""

    model_config = SettingsConfigDict(frozen=True)

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

    @classmethod
    def settings_customise_sources(  # type: ignore[override]  # of what is passed, only this is used
        cls, _: type[BaseSettings], init_settings: InitSettingsSource, **_others: object
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the layers that `of_layers` was given: no other environment, and no `.env` file."""
        return tuple(init_settings.init_kwargs["layers"])

    @classmethod
    def of_layers(cls, layers: Sequence[PydanticBaseSettingsSource]) -> Settings:
        """Return the settings that `layers` give, the first of which wins. Raises pydantic's ValidationError."""
        return cls(layers=layers)  # type: ignore[call-arg]  # goes to `settings_customise_sources`
