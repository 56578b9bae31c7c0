"""The values of all settings, in groups: frozen, and what everything else is built from. Nothing is read here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Provider = Literal["auto", "none", "local", "onnx", "openai", "gemini"]
Rerank = Literal["off", "provider", "local"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
LogFormat = Literal["text", "json"]
Card = Literal["off", "names", "full"]


@dataclass(frozen=True, slots=True)
class SkillSettings:
    """Where skills are found, and which are refused. `dirs` have `~` expanded; `roots` is never empty.

    `dirs_given` and `roots_given` say whether a person set these two, rather than leave them at their defaults, and
    `project_root_given` by which of its names the project's root is set.
    """

    dirs: tuple[str, ...]
    dirs_given: bool
    roots: tuple[str, ...]
    roots_given: bool
    cwd: str
    project_root: str
    project_root_given: str
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
    max_connections: int
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
