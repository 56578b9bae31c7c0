"""The table of settings: the environment variable of each, its default, its meaning, and how its text is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from skillhub_mcp.project import DEFAULT_MARKERS
from skillhub_mcp.settings import parsing
from skillhub_mcp.settings.values import (
    DisclosureSettings,
    EmbeddingSettings,
    ExecutionSettings,
    HttpSettings,
    IndexSettings,
    LibrarySettings,
    ObservabilitySettings,
    PolicySettings,
    ReplicaSettings,
    SearchSettings,
    SkillSettings,
    StorageSettings,
)

DEFAULT_SKILLS_DIR = "~/.skillhub/skills"
_MEBIBYTES_64 = 64 * 1024 * 1024
# MCP's SDK accepts no larger request.
_MEBIBYTES_4 = 4 * 1024 * 1024
FIELDS = ("name", "description", "tags", "category", "body")
_PLACES = ("project", "user", "hub", "builtin", "claude")
DEFAULT_PLACES = ("project", "user", "hub")
TOOL_SETS = ("core", "context", "agents", "registry", "skill")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: the environment variable `name`, and the `field` of its group that holds the value.

    `read` converts the text to a value, or raises ValueError with what is allowed. For a `forgiving` setting an
    invalid value is reported and the default is used.
    """

    name: str
    field: str
    default: str
    meaning: str
    read: Callable[[str], object]
    aliases: tuple[str, ...] = ()
    secret: bool = False
    forgiving: bool = False


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """Settings that belong together: the field `name` of `Settings`, a title for people, and the type of the values."""

    name: str
    title: str
    make: Callable[..., object]
    settings: tuple[Setting, ...]


_SKILLS = (
    Setting(
        "SKILLS_DIR",
        "dirs",
        DEFAULT_SKILLS_DIR,
        "Directories that hold skills, separated as in PATH; of two skills with one name, the earlier directory's wins",
        parsing.directories,
    ),
    Setting(
        "SKILLHUB_ROOTS",
        "roots",
        "",
        "Places to search: one or more of project, user, hub (SKILLS_DIR), builtin and claude, separated by commas. "
        "Empty means project,user,hub and what `skillhub roots add` recorded, or hub alone where SKILLS_DIR is set",
        parsing.some_of(*_PLACES),
    ),
    Setting(
        "SKILLHUB_CWD",
        "cwd",
        "",
        "Working directory to find the project's skills from; empty means that of the process",
        parsing.stripped,
    ),
    Setting(
        "SKILLHUB_PROJECT_ROOT",
        "project_root",
        "",
        "Root directory of the project; empty means the nearest directory with a marker, from the working directory up",
        parsing.stripped,
        aliases=("CODELIA_AGENTS_ROOT",),
    ),
    Setting(
        "SKILLHUB_MARKERS",
        "markers",
        ",".join(DEFAULT_MARKERS),
        "Names of files or directories that mark the root of a project, separated by commas",
        parsing.listed,
        aliases=("CODELIA_AGENTS_MARKERS",),
    ),
    Setting(
        "SKILLHUB_STRICT",
        "strict",
        "0",
        "1 refuses every skill that breaks a rule of the specification",
        parsing.switch,
    ),
    Setting(
        "SKILLHUB_REGISTRY_MAX_LINES",
        "registry_max_lines",
        "200",
        "Maximum lines of frontmatter; the strict registry refuses a skill with more",
        parsing.whole(1, 1_000_000),
    ),
    Setting(
        "SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS",
        "registry_max_line_characters",
        "500",
        "Maximum characters in a line of frontmatter, except the description's; the strict registry refuses a skill "
        "with a longer one",
        parsing.whole(1, 1_000_000),
    ),
)

_POLICY = (
    Setting(
        "SKILLHUB_ENABLED_SKILLS",
        "enabled_skills",
        "",
        "Names of the only skills to serve, separated by commas; if set, SKILLHUB_ENABLED_CATEGORIES has no effect. A "
        "text without a name, such as a comma, serves nothing",
        parsing.name_set,
    ),
    Setting(
        "SKILLHUB_ENABLED_CATEGORIES",
        "enabled_categories",
        "",
        "Categories of the only skills to serve, separated by commas; a text without one serves nothing",
        parsing.lower_name_set,
    ),
    Setting(
        "SKILLHUB_TRUST",
        "trust",
        "limited",
        "What becomes of a project's skills until you agree to them with `skillhub trust`: limited (found and loaded; "
        "they take no name of yours, are never pinned, and only counted on the card), ask (also asks before each is "
        "loaded), all (every project is trusted) or none (left out)",
        parsing.one_of("limited", "ask", "all", "none"),
    ),
    Setting(
        "SKILLHUB_AUDIT",
        "audit",
        "warn",
        "What becomes of what `skillhub audit` finds: warn (search_skills and load_skill say it, from high severity), "
        "block (skills with a critical finding are also withheld, until you accept it) or off (no skill is audited)",
        parsing.one_of("warn", "block", "off"),
    ),
    Setting(
        "SKILLHUB_FROZEN",
        "frozen",
        "0",
        "1 withholds a skill that a lock (`skillhub lock`) names and whose files are not those that were locked, until "
        "they are again; only withholds what no lock names, too",
        parsing.one_of("0", "1", "only"),
    ),
    Setting(
        "SKILLHUB_PERMISSIONS",
        "permissions",
        "",
        "File of rules that allow and deny, in addition to ~/.skillhub/permissions.json and the project's; must exist",
        parsing.optional_path,
    ),
    Setting(
        "SKILLHUB_CHOICES",
        "choices",
        "~/.skillhub/choices.json",
        "File that records which skills were switched on and off",
        parsing.local_path,
    ),
)

_DISCLOSURE = (
    Setting(
        "SKILLHUB_TOOLS",
        "tools",
        "core",
        f"Sets of tools to offer: one or more of {', '.join(TOOL_SETS)}, separated by commas, or all",
        parsing.some_of(*TOOL_SETS),
    ),
    Setting(
        "SKILLHUB_MAX_BODY_BYTES",
        "max_body_bytes",
        "131072",
        "Maximum bytes of instructions in one load_skill result; a longer body is returned in parts",
        parsing.whole(1024, _MEBIBYTES_64),
    ),
    Setting(
        "MAX_FILE_BYTES",
        "max_file_bytes",
        "65536",
        "Maximum bytes in one read_skill_file result",
        parsing.whole(4, _MEBIBYTES_64),
    ),
    Setting(
        "SKILLHUB_SERVE_DOTFILES",
        "serve_dotfiles",
        "0",
        "1 allows reading files whose names start with a dot",
        parsing.switch,
    ),
    Setting(
        "SKILLHUB_EXPOSE_PATHS",
        "expose_paths",
        "0",
        "1 returns the skill's absolute path over HTTP too; over stdio it is always returned",
        parsing.switch,
    ),
    Setting(
        "SKILLHUB_ERROR_STYLE",
        "error_style",
        "result",
        "How a failed call is answered: result, an error result, as MCP recommends; or jsonrpc, a JSON-RPC error",
        parsing.one_of("result", "jsonrpc"),
    ),
    Setting(
        "SKILLHUB_CARD",
        "card",
        "full",
        "What the server's instructions say about the skills: full describes pinned skills and those that fit the "
        "project and maps the domains of the rest; names only names them; off says nothing, in the lists of other "
        "sets too",
        parsing.one_of("off", "names", "full"),
    ),
    Setting(
        "SKILLHUB_INSTRUCTIONS_MAX_BYTES",
        "instructions_max_bytes",
        "2048",
        "Maximum bytes in the server's instructions: first what the tools need, then the skills",
        parsing.whole(512, _MEBIBYTES_64),
    ),
    Setting(
        "SKILLHUB_CATALOGUE_MAX_ENTRIES",
        "catalogue_max_entries",
        "200",
        "Maximum skills in a catalogue",
        parsing.whole(1, 1_000_000),
        forgiving=True,
    ),
    Setting(
        "SKILLHUB_CATALOGUE_MAX_BYTES",
        "catalogue_max_bytes",
        "32768",
        "Maximum bytes of UTF-8 in a catalogue: descriptions are shortened to fit, then skills are left out",
        parsing.whole(1, _MEBIBYTES_64),
        forgiving=True,
    ),
    Setting(
        "SKILLHUB_SKILLS_ENABLED",
        "skills_enabled",
        "1",
        "0 removes the agent-context tools (set context): no catalogue, no skill_search, no skill_load",
        parsing.switch,
        forgiving=True,
    ),
    Setting(
        "SKILLHUB_SKILL_SEARCH_LIMIT",
        "skill_search_limit",
        "8",
        "Maximum hits of skill_search where the call gives no limit",
        parsing.whole(1, 1_000),
        forgiving=True,
    ),
    Setting(
        "SKILLHUB_SKILL_SEARCH_MAX_LIMIT",
        "skill_search_max_limit",
        "50",
        "Maximum hits of skill_search whatever limit the call gives",
        parsing.whole(1, 1_000),
        forgiving=True,
    ),
    Setting(
        "SKILLHUB_AGENTS_CONFIG",
        "agents_config",
        "",
        "How AGENTS.md files are read: a JSON object, or the path of a file with one; empty means the defaults",
        parsing.stripped,
    ),
)

_SEARCH = (
    Setting("SEARCH_LIMIT", "limit", "10", "Maximum hits of a search", parsing.whole(1, 100)),
    Setting(
        "SEARCH_THRESHOLD",
        "threshold",
        "0.2",
        "If there are more than five hits, those below this share of the best score are left out",
        parsing.number(0, 1),
    ),
    Setting(
        "SEARCH_CONFIDENCE",
        "confidence",
        "0.2",
        "Score from which the first hit counts as a fit; below it all are near misses, and far below it only five "
        "are returned",
        parsing.number(0, 1),
    ),
    Setting(
        "SEARCH_MODE",
        "mode",
        "auto",
        "Search by fts (full text), vector, hybrid, or auto, the best measured combination",
        parsing.one_of("auto", "fts", "vector", "hybrid"),
    ),
    Setting(
        "SEARCH_FIELDS",
        "fields",
        "all",
        f"Fields of a skill to search: one or more of {', '.join(FIELDS)}, separated by commas, or all",
        parsing.some_of(*FIELDS),
    ),
    Setting(
        "SEARCH_RERANK",
        "rerank",
        "0",
        "What reorders the best hits: 0 nothing, 1 a model of the embedding provider, openai or gemini, which is sent "
        "the query and their names and descriptions, local the cross-encoder in SEARCH_RERANK_MODEL_DIR",
        parsing.rerank,
    ),
    Setting(
        "SEARCH_RERANK_MODEL", "rerank_model", "", "Model that reorders; empty means a small one", parsing.stripped
    ),
    Setting(
        "SEARCH_RERANK_MODEL_DIR",
        "rerank_model_dir",
        "",
        "Directory of a cross-encoder, with tokenizer.json and model.onnx; required if SEARCH_RERANK=local",
        parsing.optional_path,
    ),
)

_EMBEDDING = (
    Setting(
        "EMBEDDING_PROVIDER",
        "provider",
        "auto",
        "Provider of the embeddings: local (word vectors on this machine), onnx (a sentence encoder of yours, in this "
        "process), openai, gemini, none, or auto, which is local if installed and none otherwise. Only openai and "
        "gemini send data: names, descriptions, tags, categories and queries, never bodies",
        parsing.one_of("auto", "none", "local", "onnx", "openai", "gemini"),
    ),
    Setting("EMBEDDING_MODEL", "model", "", "Model of the provider; empty means its default", parsing.stripped),
    Setting(
        "EMBEDDING_MODEL_DIR",
        "model_dir",
        "",
        "Directory of a sentence encoder, with tokenizer.json and model.onnx; required if EMBEDDING_PROVIDER=onnx",
        parsing.optional_path,
    ),
    Setting(
        "EMBEDDING_BASE_URL",
        "base_url",
        "",
        "URL of another server with the provider's API; empty means the provider's own",
        parsing.http_address,
    ),
    Setting(
        "OPENAI_API_KEY", "openai_api_key", "", "Required if EMBEDDING_PROVIDER=openai", parsing.stripped, secret=True
    ),
    Setting(
        "GEMINI_API_KEY",
        "gemini_api_key",
        "",
        "Required if EMBEDDING_PROVIDER=gemini",
        parsing.stripped,
        aliases=("GOOGLE_API_KEY",),
        secret=True,
    ),
)

_INDEX = (
    Setting(
        "DB_PATH",
        "db_path",
        "~/.skillhub/skills.lancedb",
        "Path of the index database; with SKILLHUB_READ_ONLY=1 a publication: its directory, or s3://, gs://, az://",
        parsing.database,
    ),
    Setting(
        "SKILLHUB_SKIP_AUTO_REINDEX",
        "skip_auto_reindex",
        "0",
        "1 serves the index as it was last written and does not look for changes",
        parsing.switch,
    ),
)

_STORAGE = (
    Setting(
        "SKILLHUB_STORAGE_OPTIONS",
        "options",
        "",
        "How the bucket of a publication (s3://, gs://, az://) is reached: key=value, separated by commas, such as "
        "region=eu-central-1,endpoint=https://s3.example.com. What is not named comes from AWS_*, GOOGLE_* or AZURE_*",
        parsing.storage_options,
        secret=True,
    ),
)

_REPLICA = (
    Setting(
        "SKILLHUB_READ_ONLY",
        "read_only",
        "0",
        "1 serves the publication that DB_PATH names, and looks into no skills directory",
        parsing.switch,
    ),
    Setting(
        "SKILLHUB_SNAPSHOT",
        "snapshot",
        "",
        "Id of the only snapshot to serve, from `skillhub snapshots list`; empty follows the current one",
        parsing.snapshot_id,
    ),
    Setting(
        "SKILLHUB_REFRESH_SECONDS",
        "refresh_seconds",
        "30",
        "Seconds within which a replica serves what was published; after failures it asks less often",
        parsing.number(0.2, 86_400),
    ),
    Setting(
        "SKILLHUB_MIRROR_DIR",
        "mirror_dir",
        "~/.skillhub/mirrors",
        "Directory in which replicas keep a local mirror of each publication; several may share it",
        parsing.local_path,
    ),
    Setting(
        "SKILLHUB_MIRROR_MAX_BYTES",
        "mirror_max_bytes",
        "21474836480",
        "Maximum bytes of a mirror; files that do not fit are fetched when somebody asks for them",
        parsing.whole(_MEBIBYTES_64, 1 << 50),
    ),
)

_EXECUTION = (
    Setting("SKILLHUB_ENABLE_RUN", "enable_run", "0", "1 offers run_skill_command over stdio", parsing.switch),
    Setting(
        "SKILLHUB_ENABLE_RUN_OVER_HTTP",
        "enable_run_over_http",
        "0",
        "1, together with SKILLHUB_ENABLE_RUN, offers run_skill_command over HTTP too",
        parsing.switch,
    ),
    Setting(
        "ALLOWED_COMMANDS",
        "allowed_commands",
        "python,uv,node,cat,ls,grep",
        "Commands that run_skill_command may run, by name, separated by commas",
        parsing.command_names,
    ),
    Setting(
        "SKILLHUB_SANDBOX",
        "sandbox",
        "bubblewrap",
        "What confines the commands of run_skill_command. If bubblewrap does not work here, commands are refused. off "
        "confines nothing: a command may do what you may",
        parsing.one_of("bubblewrap", "off"),
    ),
    Setting(
        "SKILLHUB_OUTPUT_DIRS",
        "output_dirs",
        "",
        "Directories below which an agent may name an output directory for a command, which the command may then read "
        "and write. Empty: a command writes only to a private directory of its session. Separated as in PATH",
        parsing.optional_directories,
    ),
    Setting(
        "EXEC_TIMEOUT_SECONDS",
        "timeout_seconds",
        "60",
        "Seconds after which a command and its children are killed",
        parsing.number(0.1, 86_400),
    ),
    Setting(
        "EXEC_MAX_OUTPUT_BYTES",
        "max_output_bytes",
        "65536",
        "Maximum bytes of stdout, and of stderr, that a command returns",
        parsing.whole(1, _MEBIBYTES_64),
    ),
    Setting(
        "SKILLHUB_HOOKS",
        "hooks",
        "",
        "File of shell commands to run before and after each tool call, and before whatever else hands out a skill. No "
        "other file of hooks is ever read; empty runs none",
        parsing.optional_path,
    ),
)

_HTTP = (
    Setting(
        "SKILLHUB_TOKEN",
        "token",
        "",
        "Bearer token that grants HTTP clients every skill. If this, SKILLHUB_TOKENS_FILE or SKILLHUB_JWT_ISSUER is "
        "set, every client must send a token",
        parsing.bearer_token,
        secret=True,
    ),
    Setting(
        "SKILLHUB_TOKENS_FILE",
        "tokens_file",
        "",
        "File of hashed bearer tokens, each with the skills that it grants; `skillhub token new` writes it",
        parsing.optional_path,
    ),
    Setting(
        "SKILLHUB_JWT_ISSUER",
        "jwt_issuer",
        "",
        "Issuer whose JSON Web Tokens are accepted; requires SKILLHUB_JWT_AUDIENCE. The claims skillhub_skills and "
        "skillhub_categories, lists of names, limit the skills that a token grants",
        parsing.http_address,
    ),
    Setting(
        "SKILLHUB_JWT_AUDIENCE", "jwt_audience", "", "Audience that the JSON Web Tokens must name", parsing.stripped
    ),
    Setting(
        "SKILLHUB_JWT_JWKS",
        "jwt_jwks",
        "",
        "URL of the issuer's keys; empty means the issuer's /.well-known/jwks.json",
        parsing.http_address,
    ),
    Setting(
        "SKILLHUB_ALLOW_ANONYMOUS",
        "allow_anonymous",
        "0",
        "1 allows a server without tokens to listen on an address that other machines can reach",
        parsing.switch,
    ),
    Setting(
        "SKILLHUB_PUBLIC_URL",
        "public_url",
        "",
        "URL of /mcp as clients reach it, such as https://skills.example.com/mcp, for the protected resource metadata; "
        "its host and origin are allowed",
        parsing.mcp_address,
    ),
    Setting(
        "SKILLHUB_ALLOWED_HOSTS",
        "allowed_hosts",
        "",
        "Host names that requests may be addressed to, in addition to this machine's, separated by commas",
        parsing.host_names,
    ),
    Setting(
        "SKILLHUB_ALLOWED_ORIGINS",
        "allowed_origins",
        "",
        "Origins whose pages may call in a browser, this machine's too (http://localhost:5173), separated by commas",
        parsing.web_origins,
    ),
    Setting(
        "SKILLHUB_TRUSTED_PROXIES",
        "trusted_proxies",
        "auto",
        "IP addresses or networks of proxies whose X-Forwarded-* headers are trusted, separated by commas; none; or "
        "auto, this machine's if SKILLHUB_PUBLIC_URL begins with https, and none otherwise",
        parsing.ip_networks,
    ),
    Setting(
        "SKILLHUB_RATE_LIMIT",
        "rate_limit",
        "6000",
        "Maximum requests per minute of one client, identified by its token or else its address; 0 means no limit",
        parsing.whole(0, 1_000_000),
    ),
    Setting(
        "SKILLHUB_MAX_CONNECTIONS",
        "max_connections",
        "512",
        "Maximum connections of a process; beyond it, requests are answered with 503",
        parsing.whole(4, 100_000),
    ),
    Setting(
        "SKILLHUB_STATELESS",
        "stateless",
        "0",
        "1 keeps no sessions of the 2025-11-25 protocol, so that any worker can answer any request",
        parsing.switch,
    ),
    Setting(
        "SKILLHUB_WORKERS",
        "workers",
        "1",
        "Processes that answer requests at one address; more than 1 requires SKILLHUB_STATELESS=1",
        parsing.whole(1, 64),
    ),
    Setting(
        "SKILLHUB_WELL_KNOWN",
        "well_known",
        "0",
        "1 serves the skills for installing elsewhere: /.well-known/agent-skills/index.json, to each caller theirs",
        parsing.switch,
    ),
)

_LIBRARY = (
    Setting(
        "SKILLHUB_SOURCE_TOKENS",
        "source_tokens",
        "",
        "Bearer tokens for sites that skills are installed from, as a team's hub: host=token, separated by commas. "
        "A token is sent to its host only, over https or on this machine",
        parsing.source_tokens,
        secret=True,
    ),
    Setting(
        "SKILLHUB_REQUIRE_SIGNED",
        "require_signed",
        "0",
        "1 lets `skillhub add` and `update` install only what one of your keys or ~/.skillhub/allowed_signers signed",
        parsing.switch,
    ),
)

_OBSERVABILITY = (
    Setting(
        "LOG_LEVEL",
        "log_level",
        "INFO",
        "Minimum level logged to stderr: DEBUG, INFO, WARN or ERROR",
        parsing.log_level,
    ),
    Setting(
        "SKILLHUB_LOG_FORMAT",
        "log_format",
        "text",
        "Format of the log on stderr: text, or json, one object per line",
        parsing.one_of("text", "json"),
    ),
    Setting(
        "SKILLHUB_AUDIT_LOG",
        "audit_log",
        "",
        "File that records each load, read and run of a skill, one JSON object per line; a server also logs them",
        parsing.optional_path,
    ),
    Setting("SKILLHUB_METRICS", "metrics", "0", "1 serves /metrics for Prometheus over HTTP", parsing.switch),
    Setting(
        "SKILLHUB_USAGE_LOG",
        "usage_log",
        "",
        "File that records searches, loads and reads, for `skillhub stats`; empty records nothing. It is never sent",
        parsing.optional_path,
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
SETTINGS: tuple[Setting, ...] = tuple(setting for group in GROUPS for setting in group.settings)
