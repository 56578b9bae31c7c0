"""What one server offers, and over which transport."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.session import MakeResolver
    from skillhub_mcp.disclosure.context.catalogue import Catalogues
    from skillhub_mcp.disclosure.project_skills import ProjectSkills
    from skillhub_mcp.errors import ConfirmationRequired
    from skillhub_mcp.execution.hooks import Hook
    from skillhub_mcp.policy.tool_actions import Action
    from skillhub_mcp.project import ClientDirectories, Project
    from skillhub_mcp.publishing.publisher import Publisher
    from skillhub_mcp.skills.admission import Admission

Transport = Literal["stdio", "http"]
ErrorStyle = Literal["result", "jsonrpc"]


@dataclass(frozen=True, slots=True)
class TrustAsking:
    """What the project of a root `brings` now, and recording that its person agrees.

    Both read files. They raise InvalidSetting, PolicyUnreadable and PolicyUnwritable, and OSError.
    """

    brings: Callable[[str], ProjectSkills]
    agree: Callable[[ProjectSkills], None]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What one server offers. `enable_run` and `expose_paths` are already decided for its transport.

    `catalogues` are those of the agent-context tools, whose searches return `context_limit` hits by default.
    `make_resolver` returns AGENTS.md in a directory as a session knows it. `card` says how much of each skill the
    instructions show, and `card_project` returns the directory whose files tell which skills fit, or an empty text.
    `remember` saves a rule that a person agreed to, and `trust` that they trust the project. `client` is where the
    client's directories are kept if they decide what `project` returns. `closing` ends what the Skill tool returns. Of
    several processes that may receive a client's requests, all have one `state_key`, and the directory `agreements`.
    """

    transport: Transport
    stateless: bool
    state_key: bytes | None = field(repr=False)
    tools: Sequence[str]
    enable_run: bool
    expose_paths: bool
    error_style: ErrorStyle
    run_timeout_seconds: float
    registry_admission: Callable[[bool], Admission]
    catalogues: Catalogues | None
    context_limit: int
    make_resolver: MakeResolver
    saved_sessions: str
    agreements: str
    card: Literal["off", "names", "full"]
    card_project: Callable[[], str]
    closing: str
    remember: Callable[[Action, ConfirmationRequired], None]
    trust: TrustAsking | None
    hooks: Sequence[Hook]
    project: Callable[[], Project]
    client: ClientDirectories | None
    publisher: Publisher
