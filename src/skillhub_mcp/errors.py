"""What can go wrong, as one small tree. The edges turn these into text: `server.boundary` and `cli.output`.

    SkillHubError
    ├── InvalidSetting          INVALID_SETTING        a setting has a value that cannot be used
    ├── InvalidArgument         INVALID_ARGUMENT       a caller passed something unusable
    ├── ToolNotFound            TOOL_NOT_FOUND         no tool of that name is offered
    ├── SkillNotFound           SKILL_NOT_FOUND        no skill has that name
    ├── AmbiguousSkill          AMBIGUOUS_SKILL        several skills have that name, and none comes first
    ├── SkillDisabled           SKILL_DISABLED         it exists, but this server does not serve it
    ├── PermissionDenied        PERMISSION_DENIED      a rule forbids it
    ├── ConfirmationRequired    CONFIRMATION_REQUIRED  somebody has to agree first, and nobody could be asked
    ├── PolicyUnreadable        POLICY_UNREADABLE      a file of rules or choices cannot be used, so nothing is done
    │   └── TokensUnreadable    TOKENS_UNREADABLE      a file of tokens cannot be used, so nobody is let in
    ├── RateLimited             RATE_LIMITED           a client over HTTP sent too many requests
    ├── RequestTooLarge         REQUEST_TOO_LARGE      an HTTP request has more bytes than the server takes
    ├── BlockedByHook           BLOCKED_BY_HOOK        a hook of the person who runs the server stopped the call
    ├── SkillUnreadable         SKILL_UNREADABLE       its SKILL.md cannot be read or parsed
    ├── SkillFileNotFound       FILE_NOT_FOUND         the skill has no such file
    ├── ResourceNotFound        RESOURCE_NOT_FOUND     nothing is served at that URI
    ├── PathNotAllowed          PATH_NOT_ALLOWED       the path leaves the skill, or is withheld
    ├── CommandNotAllowed       COMMAND_NOT_ALLOWED    the command is not on the allow list
    ├── CommandUnavailable      COMMAND_UNAVAILABLE    the command is allowed but not installed
    ├── ExecutionTimeout        EXECUTION_TIMEOUT      the command ran too long and was killed
    ├── QueriesUnreadable       QUERIES_UNREADABLE     a file of queries or of usage cannot be used
    ├── IndexUnavailable        INDEX_UNAVAILABLE      nothing can answer a search yet, or at all
    ├── EmbeddingError          EMBEDDING_FAILED       the embedding provider did not answer usefully
    └── RerankingError          RERANKING_FAILED       the model that orders hits did not answer usefully

Facts travel as attributes (`SkillNotFound.near`), never inside a sentence only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

_SHOWN_URI_CHARACTERS = 200


class SkillHubError(Exception):
    """The base of every failure that SkillHub expects. `message` is one sentence, `hint` says what mends it."""

    code: ClassVar[str] = "SKILLHUB_ERROR"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def facts(self) -> Mapping[str, object]:
        """What a program needs to mend the call, as JSON values."""
        return {}


class InvalidSetting(SkillHubError):
    """A setting's value cannot be used."""

    code = "INVALID_SETTING"

    def __init__(self, setting: str, value: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{setting}={value!r} {reason}", hint=hint)
        self.setting = setting
        self.value = value

    @property
    def facts(self) -> Mapping[str, object]:
        return {"setting": self.setting, "value": self.value}


class InvalidArgument(SkillHubError):
    """An argument of a call cannot be used."""

    code = "INVALID_ARGUMENT"

    def __init__(self, argument: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{argument} {reason}", hint=hint)
        self.argument = argument

    @property
    def facts(self) -> Mapping[str, object]:
        return {"argument": self.argument}


class ToolNotFound(SkillHubError):
    """No tool of that name is offered; `tools` are those that are. A `known` one is of a set that is switched off."""

    code = "TOOL_NOT_FOUND"

    def __init__(self, name: str, *, tools: Sequence[str], near: Sequence[str] = (), known: bool = False) -> None:
        guess = "did you mean " + " or ".join(near) + "? " if near else ""
        offered = ", ".join(tools) or "none"
        super().__init__(
            f"{name} is not switched on at this server" if known else f"No tool is named {name!r}",
            hint=f"{guess}{'T' if guess else 't'}he tools here: {offered}",
        )
        self.name = name
        self.tools = tuple(tools)
        self.near = tuple(near)

    @property
    def facts(self) -> Mapping[str, object]:
        return {"tool": self.name, "near": list(self.near), "tools": list(self.tools)}


class SkillNotFound(SkillHubError):
    """No skill is served under that name; `near` holds the closest names that are."""

    code = "SKILL_NOT_FOUND"

    def __init__(self, name: str, *, near: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(f"No skill is named {name!r}", hint=hint)
        self.name = name
        self.near = tuple(near)

    @property
    def facts(self) -> Mapping[str, object]:
        return {"skill_name": self.name, "near": list(self.near)}


class AmbiguousSkill(SkillHubError):
    """Several skills have the name, and seed 000 lets none of them come first; `candidates` are their paths."""

    code = "AMBIGUOUS_SKILL"

    def __init__(self, name: str, *, candidates: Sequence[str]) -> None:
        super().__init__(
            f"{len(candidates)} skills are named {name!r}", hint="give one of their paths: " + ", ".join(candidates)
        )
        self.name = name
        self.candidates = tuple(candidates)

    @property
    def facts(self) -> Mapping[str, object]:
        return {"skill_name": self.name, "candidates": list(self.candidates)}


class SkillDisabled(SkillHubError):
    """The skill exists, but this server's settings leave it out, or, without a `setting`, a person switched it off."""

    code = "SKILL_DISABLED"

    def __init__(self, name: str, *, setting: str | None = None) -> None:
        if setting is None:
            message, mend = f"Skill {name!r} is switched off", f"`skillhub enable {name}`"
        else:
            message, mend = f"Skill {name!r} is not enabled on this server", setting
        super().__init__(
            message,
            hint=f"the person who runs the server can enable it with {mend}; search_skills shows what is enabled",
        )
        self.name = name
        self.setting = setting

    @property
    def facts(self) -> Mapping[str, object]:
        return {"skill_name": self.name} | ({} if self.setting is None else {"setting": self.setting})


class PermissionDenied(SkillHubError):
    """A rule forbids `tool`, or forbids it for one skill, or else the person who was asked did (seed 000 §8.1)."""

    code = "PERMISSION_DENIED"

    def __init__(self, tool: str, skill_name: str | None = None, *, by_person: bool = False) -> None:
        what = tool if skill_name is None else f"{tool} of {skill_name!r}"
        message = f"The person did not agree to {what}" if by_person else f"A rule denies {what}"
        rest = "do not ask again" if by_person else "`skillhub permissions show` lists the rules"
        super().__init__(message, hint=f"go on without it; {rest}")
        self.tool = tool
        self.skill_name = skill_name

    @property
    def facts(self) -> Mapping[str, object]:
        return {"tool": self.tool} | ({} if self.skill_name is None else {"skill_name": self.skill_name})


class ConfirmationRequired(SkillHubError):
    """The rules neither allow nor deny it: a person has to agree (seed 000 §8.1, DECISIONS 25).

    `directory` is the skill's, and `rule_name` the name that a rule knows it by.
    """

    code = "CONFIRMATION_REQUIRED"

    def __init__(self, tool: str, skill_name: str, *, description: str, directory: str, rule_name: str) -> None:
        words = ("skillhub permissions allow", rule_name, "--run" if tool == "run_skill_command" else "")
        super().__init__(
            f"{tool} of {skill_name!r} needs the person's agreement",
            hint=f"ask them to run: {' '.join(word for word in words if word)}",
        )
        self.tool = tool
        self.skill_name = skill_name
        self.description = description
        self.directory = directory
        self.rule_name = rule_name

    @property
    def facts(self) -> Mapping[str, object]:
        return {"tool": self.tool, "skill_name": self.skill_name}


class PolicyUnreadable(SkillHubError):
    """A file of rules or choices is there and cannot be used. `path` names it, for logs and the shell."""

    code = "POLICY_UNREADABLE"
    mend: ClassVar[str] = "mend or remove it; nothing is loaded until then"

    def __init__(self, what: str, *, path: str, reason: str) -> None:
        super().__init__(f"{what} cannot be used: {reason}", hint=self.mend)
        self.what = what
        self.path = path


class TokensUnreadable(PolicyUnreadable):
    """A file of tokens is missing or cannot be used: the server does not start, and a running one lets nobody in."""

    code = "TOKENS_UNREADABLE"
    mend = "mend it, or begin a new one with `skillhub token new`; nobody is let in until then"


class RateLimited(SkillHubError):
    """A client over HTTP did more of something than a minute allows; `seconds` from now it may go on."""

    code = "RATE_LIMITED"

    def __init__(self, what: str, *, per_minute: int, seconds: int) -> None:
        super().__init__(
            f"This client sent more than {per_minute:,} {what} a minute",
            hint=f"wait {seconds} second{'s' if seconds > 1 else ''} and try again",
        )
        self.per_minute = per_minute
        self.seconds = seconds

    @property
    def facts(self) -> Mapping[str, object]:
        return {"per_minute": self.per_minute, "retry_after": self.seconds}


class RequestTooLarge(SkillHubError):
    """The body of an HTTP request is larger than SKILLHUB_MAX_REQUEST_BYTES; none of it was looked at."""

    code = "REQUEST_TOO_LARGE"

    def __init__(self, max_bytes: int) -> None:
        super().__init__(
            f"The request has more than {max_bytes:,} bytes",
            hint="send less at once; whoever runs the server can raise SKILLHUB_MAX_REQUEST_BYTES",
        )
        self.max_bytes = max_bytes

    @property
    def facts(self) -> Mapping[str, object]:
        return {"max_bytes": self.max_bytes}


class BlockedByHook(SkillHubError):
    """A PreToolUse hook of the person who runs the server stopped the call; `reason` is what it said."""

    code = "BLOCKED_BY_HOOK"

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(f"A hook blocked {tool}: {reason}", hint="do as it says, or go on without the call")
        self.tool = tool
        self.reason = reason

    @property
    def facts(self) -> Mapping[str, object]:
        return {"tool": self.tool}


class SkillUnreadable(SkillHubError):
    """A skill's SKILL.md cannot be read or parsed now. `path` names it, for logs and the shell."""

    code = "SKILL_UNREADABLE"

    def __init__(self, name: str, *, path: str, reason: str) -> None:
        super().__init__(f"The SKILL.md of {name!r} cannot be used: {reason}", hint="repair or remove the file")
        self.name = name
        self.path = path

    @property
    def facts(self) -> Mapping[str, object]:
        return {"skill_name": self.name}


class SkillFileNotFound(SkillHubError):
    """The skill has no such file."""

    code = "FILE_NOT_FOUND"

    def __init__(self, skill: str, file_path: str, reason: str = "does not exist", *, hint: str | None = None) -> None:
        super().__init__(f"{file_path!r} {reason} in skill {skill!r}", hint=hint)
        self.skill = skill
        self.file_path = file_path

    @property
    def facts(self) -> Mapping[str, object]:
        return {"skill_name": self.skill, "file_path": self.file_path}


class ResourceNotFound(SkillHubError):
    """Nothing is served at that URI, or nothing of the kind that was asked for."""

    code = "RESOURCE_NOT_FOUND"

    def __init__(self, uri: str, reason: str = "is not served", *, hint: str | None = None) -> None:
        shown = uri if len(uri) <= _SHOWN_URI_CHARACTERS else f"{uri[:_SHOWN_URI_CHARACTERS]}…"
        super().__init__(f"{shown!r} {reason}", hint=hint)
        self.uri = uri

    @property
    def facts(self) -> Mapping[str, object]:
        return {"uri": self.uri}


class PathNotAllowed(SkillHubError):
    """The path leaves the skill's own directory, or names what is withheld."""

    code = "PATH_NOT_ALLOWED"

    def __init__(self, file_path: str, reason: str) -> None:
        super().__init__(
            f"{file_path!r} {reason}",
            hint="give a path relative to the skill's directory, such as 'references/guide.md'",
        )
        self.file_path = file_path

    @property
    def facts(self) -> Mapping[str, object]:
        return {"file_path": self.file_path}


class CommandNotAllowed(SkillHubError):
    """The command is not on the allow list."""

    code = "COMMAND_NOT_ALLOWED"

    def __init__(self, command: str, *, allowed: Sequence[str]) -> None:
        listed = ", ".join(allowed) or "none"
        super().__init__(
            f"{command!r} may not be run",
            hint=f"allowed commands: {listed}; give the bare name, without a path",
        )
        self.command = command
        self.allowed = tuple(allowed)

    @property
    def facts(self) -> Mapping[str, object]:
        return {"command": self.command, "allowed": list(self.allowed)}


class CommandUnavailable(SkillHubError):
    """The command is allowed, but this machine has no such program."""

    code = "COMMAND_UNAVAILABLE"

    def __init__(self, command: str) -> None:
        super().__init__(
            f"{command!r} is allowed but is not installed where the server runs",
            hint="install it, or run the skill's script from your own terminal",
        )
        self.command = command

    @property
    def facts(self) -> Mapping[str, object]:
        return {"command": self.command}


class ExecutionTimeout(SkillHubError):
    """The command ran longer than allowed; it and its children were killed."""

    code = "EXECUTION_TIMEOUT"

    def __init__(self, command: str, *, seconds: float) -> None:
        super().__init__(
            f"{command!r} was killed after {seconds:g} seconds",
            hint="give it less to do, or raise EXEC_TIMEOUT_SECONDS",
        )
        self.command = command
        self.seconds = seconds

    @property
    def facts(self) -> Mapping[str, object]:
        return {"command": self.command, "seconds": self.seconds}


class QueriesUnreadable(SkillHubError):
    """A file of queries, of skill ids or of usage cannot be used; `line` is 0 where no line is to blame."""

    code = "QUERIES_UNREADABLE"

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(
            f"{path}:{line} {reason}" if line else f"{path} {reason}",
            hint="docs/guides/search-quality.md has an example",
        )
        self.path = path
        self.line = line

    @property
    def facts(self) -> Mapping[str, object]:
        return {"path": self.path, "line": self.line}


class IndexUnavailable(SkillHubError):
    """No index can answer: it is being built for the first time, or it cannot be built."""

    code = "INDEX_UNAVAILABLE"


class EmbeddingError(SkillHubError):
    """The embedding provider failed, timed out, or answered with something unusable."""

    code = "EMBEDDING_FAILED"


class RerankingError(SkillHubError):
    """The model that was asked in which order hits stand failed, or answered with something else."""

    code = "RERANKING_FAILED"
