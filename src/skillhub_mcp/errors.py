"""The errors that SkillHub expects, as one small tree. `server.error_responses` and `cli.output` turn them into text.

    SkillHubError
    ├── InvalidSetting          INVALID_SETTING        a setting's value is invalid
    ├── InvalidArgument         INVALID_ARGUMENT       an argument of a call is invalid
    ├── ToolNotFound            TOOL_NOT_FOUND         no tool with that name is offered
    ├── SkillNotFound           SKILL_NOT_FOUND        no skill has that name
    ├── AmbiguousSkill          AMBIGUOUS_SKILL        several skills have that name (agent-context tools)
    ├── SkillDisabled           SKILL_DISABLED         the skill exists, but this server does not serve it
    ├── SkillUntrusted          SKILL_UNTRUSTED        the skill's project awaits trust, which is required
    ├── SkillWithheld           SKILL_WITHHELD         the audit found something critical in the skill
    ├── PermissionDenied        PERMISSION_DENIED      a rule or the user denies it
    ├── RunNotPermitted         RUN_NOT_PERMITTED      the caller's token does not let its bearer run commands
    ├── ConfirmationRequired    CONFIRMATION_REQUIRED  the user must consent first and could not be asked
    ├── PolicyUnreadable        POLICY_UNREADABLE      a file of rules or choices is invalid; nothing is served
    │   ├── TokensUnreadable    TOKENS_UNREADABLE      a file of tokens is invalid; every request is refused
    │   ├── RootsUnreadable     ROOTS_UNREADABLE       the file of recorded roots is invalid; the default ones are used
    │   ├── TrustUnreadable     TRUST_UNREADABLE       the record of agreements is invalid; no project is trusted
    │   └── ReviewsUnreadable   REVIEWS_UNREADABLE     the record of reviews is invalid; no finding is accepted
    ├── PolicyUnwritable        POLICY_UNWRITABLE      a file of rules, choices, tokens or roots cannot be changed
    ├── RateLimited             RATE_LIMITED           an HTTP client sent too many requests
    ├── ServerBusy              SERVER_BUSY            an HTTP server has no place for another request now
    ├── BlockedByHook           BLOCKED_BY_HOOK        a hook of the server's operator blocked the call
    ├── SkillUnreadable         SKILL_UNREADABLE       a SKILL.md cannot be read or parsed
    ├── SkillUnverifiable       SKILL_UNVERIFIABLE     a skill's files cannot be compared with what was approved
    ├── RootUnavailable         ROOT_UNAVAILABLE       the skill is known; its skills directory is missing or empty
    ├── SkillFilesUnavailable   FILES_UNAVAILABLE      a replica has not got a skill's files, and its storage fails
    ├── SkillFileNotFound       FILE_NOT_FOUND         the skill has no such file
    ├── ResourceNotFound        RESOURCE_NOT_FOUND     nothing is served at that URI
    ├── PathNotAllowed          PATH_NOT_ALLOWED       the path is outside the skill, or not served
    ├── CommandNotAllowed       COMMAND_NOT_ALLOWED    the command is not on the allow list
    ├── CommandUnavailable      COMMAND_UNAVAILABLE    a program that is needed is not installed
    ├── SandboxUnavailable      SANDBOX_UNAVAILABLE    bubblewrap does not work here, and SKILLHUB_SANDBOX is not off
    ├── SandboxFailed           SANDBOX_FAILED         the sandbox of one command could not be started; the log says why
    ├── SandboxRequired         SANDBOX_REQUIRED       commands are not confined, and some skill is hidden or withheld
    ├── PackagesUnavailable     PACKAGES_UNAVAILABLE   what a script declares (PEP 723) cannot be had
    ├── ExecutionTimeout        EXECUTION_TIMEOUT      the command timed out and was killed
    ├── QueriesUnreadable       QUERIES_UNREADABLE     a file of queries or a usage log is invalid
    ├── ClientFileRefused       CLIENT_FILE_REFUSED    a client's file was left as it is
    ├── OutputUnwritable        OUTPUT_UNWRITABLE      the file that a command's result goes to cannot be written
    ├── TerminalUnavailable     TERMINAL_UNAVAILABLE   a command needs a terminal, and there is none
    ├── IndexUnavailable        INDEX_UNAVAILABLE      no index can answer searches, or not yet
    ├── StorageUnavailable      STORAGE_UNAVAILABLE    a publication's storage does not answer, or not as it should
    │   └── StorageRefused      STORAGE_REFUSED        the storage answers, and does not let us
    ├── StorageNotInstalled     STORAGE_NOT_INSTALLED  object storage needs a package that is not installed
    ├── PublicationMissing      PUBLICATION_MISSING    there is no publication, or no such snapshot of it
    ├── PublicationDamaged      PUBLICATION_DAMAGED    a part of a publication is not what was written
    ├── PublicationBusy         PUBLICATION_BUSY       another publisher is writing there
    ├── LeaseLost               LEASE_LOST             another publisher took over; nothing was published
    ├── LibraryChanging         LIBRARY_CHANGING       skills changed while they were being published
    ├── SourceUnreadable        SOURCE_UNREADABLE      what was typed names no source of skills
    ├── SourceUnreachable       SOURCE_UNREACHABLE     a source, or a ref or path of it, cannot be had
    ├── ArchiveRefused          ARCHIVE_REFUSED        an archive or a tree holds what is never unpacked
    ├── IntegrityFailed         INTEGRITY_FAILED       bytes or signers are not those that were promised
    ├── SkillConflict           CONFLICT               a name is taken, or both sides changed a file
    ├── LockUnreadable          LOCK_UNREADABLE        a lock of skills cannot be read; it is left as it is
    ├── LibraryBusy             LIBRARY_BUSY           another command is changing the skills directory
    ├── LibraryUnwritable       LIBRARY_UNWRITABLE     the skills directory cannot be written; nothing was changed
    ├── SkillChanged            SKILL_CHANGED          a locked skill's files are not those that were locked
    ├── EmbeddingError          EMBEDDING_FAILED       the embedding provider failed
    └── RerankingError          RERANKING_FAILED       the model that reorders hits failed

Details that somebody asks for are also attributes (`SkillNotFound.near`), not just part of the message.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from skillhub_mcp.redaction import redacted

_SHOWN_URI_CHARACTERS = 200


class SkillHubError(Exception):
    """The base of every error that SkillHub expects. `message` is one sentence; `hint` says how to fix it.

    `facts` are what a program needs to correct the call, as JSON values. Secrets in URLs are removed from all three.
    """

    code: ClassVar[str] = "SKILLHUB_ERROR"

    def __init__(self, message: str, *, hint: str | None = None, facts: Mapping[str, object] | None = None) -> None:
        self.message = redacted(message)
        self.hint = None if hint is None else redacted(hint)
        self.facts = {key: _without_secrets(value) for key, value in (facts or {}).items()}
        super().__init__(self.message)


def _without_secrets(fact: object) -> object:
    if isinstance(fact, list):
        return [_without_secrets(one) for one in fact]
    return redacted(fact) if isinstance(fact, str) else fact


class InvalidSetting(SkillHubError):
    """A setting's value is invalid, or lacks another setting that it requires."""

    code = "INVALID_SETTING"

    def __init__(self, setting: str, value: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{setting}={value!r} {reason}", hint=hint, facts={"setting": setting, "value": value})
        self.setting = setting


class InvalidArgument(SkillHubError):
    """An argument of a call, or of a command line, is invalid."""

    code = "INVALID_ARGUMENT"

    def __init__(self, argument: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{argument} {reason}", hint=hint, facts={"argument": argument})
        self.argument = argument


class ToolNotFound(SkillHubError):
    """No tool with that name is offered; `tools` are those that are. A `known` one is in a set that is not enabled."""

    code = "TOOL_NOT_FOUND"

    def __init__(self, name: str, *, tools: Sequence[str], near: Sequence[str] = (), known: bool = False) -> None:
        guess = "did you mean " + " or ".join(near) + "? " if near else ""
        offered = ", ".join(tools) or "none"
        super().__init__(
            f"{name} is not enabled on this server" if known else f"No tool is named {name!r}",
            hint=f"{guess}{'A' if guess else 'a'}vailable tools: {offered}",
            facts={"tool": name, "near": list(near), "tools": list(tools)},
        )


class SkillNotFound(SkillHubError):
    """No skill has that name; `near` holds the most similar names, or those that took its place. `reason` says why.

    Without a name no skill at all is there, which the reason says. `path` is the file that the reason is about, for
    logs and the command line.
    """

    code = "SKILL_NOT_FOUND"

    def __init__(
        self,
        name: str,
        *,
        near: Sequence[str] = (),
        hint: str | None = None,
        reason: str = "",
        path: str | None = None,
    ) -> None:
        told = f"No skill is named {name!r}" if name else "No skill is there"
        super().__init__(
            told + (f": {reason}" if reason else ""), hint=hint, facts={"skill_name": name, "near": list(near)}
        )
        self.name = name
        self.near = tuple(near)
        self.path = path


# A source may have thousands of one name.
_MOST_CANDIDATES = 20


class AmbiguousSkill(SkillHubError):
    """Several skills have the name, and the agent-context tools prefer none.

    `candidates` are their paths, or their ids for a client that gets no paths; `kind` says which.
    """

    code = "AMBIGUOUS_SKILL"

    def __init__(self, name: str, *, candidates: Sequence[str], kind: Literal["paths", "ids"] = "paths") -> None:
        given = "give one of their paths" if kind == "paths" else "give one of their ids as path"
        named = candidates[:_MOST_CANDIDATES]
        more = ", …" if len(candidates) > len(named) else ""
        super().__init__(
            f"{len(candidates)} skills are named {name!r}",
            hint=f"{given}: {', '.join(named)}{more}",
            facts={"skill_name": name, "candidates": list(named)},
        )
        self.candidates = tuple(candidates)


def _as_a_word(name: str) -> str:
    """Return a name as a shell takes it for one word: a skill's name is anybody's, and the hint is typed or run."""
    from shlex import quote

    return quote(name)


class SkillDisabled(SkillHubError):
    """The skill exists, but a `setting` of this server excludes it, or, without one, the user disabled it."""

    code = "SKILL_DISABLED"

    def __init__(self, name: str, *, setting: str | None = None) -> None:
        if setting is None:
            # What begins with a dash would be taken for an option.
            end = "-- " if name.startswith("-") else ""
            message, fix = f"Skill {name!r} is disabled", f"`skillhub enable {end}{_as_a_word(name)}`"
        else:
            message, fix = f"Skill {name!r} is not enabled on this server", setting
        super().__init__(
            message,
            hint=f"the server's operator can enable it with {fix}; a search finds enabled skills",
            facts={"skill_name": name} | ({} if setting is None else {"setting": setting}),
        )


class SkillUntrusted(SkillHubError):
    """The skill comes with a project that its user has not agreed to, and SKILLHUB_TRUST=none leaves such out."""

    code = "SKILL_UNTRUSTED"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Skill {name!r} comes with a project that its user has not agreed to trust",
            hint="ask the user to look at it with `skillhub trust`; a search finds other skills",
            facts={"skill_name": name},
        )


class SkillWithheld(SkillHubError):
    """The audit found something critical in the skill: SKILLHUB_AUDIT=block withholds such, and `add` refuses them.

    `rule` is the id of the audit's rule, and `place` the file below the skill with the line, where there is one.
    """

    code = "SKILL_WITHHELD"

    def __init__(self, name: str, *, rule: str, place: str, hint: str | None = None) -> None:
        usual = "do without it; its user can read it with `skillhub audit PATH`, and accept it with `--accept`"
        super().__init__(
            f"Skill {name!r} is withheld: the audit found something critical in it ({rule}, {place})",
            hint=hint or usual,
            facts={"skill_name": name, "rule": rule},
        )


class PermissionDenied(SkillHubError):
    """A rule denies `tool`, for every skill or for `skill_name`, or the user did when asked (`by_user`)."""

    code = "PERMISSION_DENIED"

    def __init__(self, tool: str, skill_name: str | None = None, *, by_user: bool = False) -> None:
        what = tool if skill_name is None else f"{tool} of {skill_name!r}"
        message = f"The user did not consent to {what}" if by_user else f"A rule denies {what}"
        rest = "do not ask again" if by_user else "`skillhub permissions show` lists the rules"
        super().__init__(
            message,
            hint=f"continue without it; {rest}",
            facts={"tool": tool} | ({} if skill_name is None else {"skill_name": skill_name}),
        )
        self.tool = tool
        self.skill_name = skill_name


class RunNotPermitted(SkillHubError):
    """The caller's token does not let its bearer run commands."""

    code = "RUN_NOT_PERMITTED"

    def __init__(self) -> None:
        super().__init__(
            "This caller's token does not permit running commands",
            hint="continue without it; the server's operator can create a token that does: skillhub token new NAME "
            "--may-run",
        )


class ConfirmationRequired(SkillHubError):
    """The rules neither allow nor deny it, or it awaits trust: the user must consent, and the client cannot ask.

    `directory` is the skill's directory, and `rule_name` its name in rules. To run commands, `digest` is that of the
    skill's files, `changed` whether an earlier consent was to other files, `packages` what is to be fetched first, and
    `network` what is allowed already. `untrusted_in` is the root of the project that awaits trust, where that is the
    reason.
    """

    code = "CONFIRMATION_REQUIRED"

    def __init__(
        self,
        tool: str,
        skill_name: str,
        *,
        description: str,
        directory: str,
        rule_name: str,
        digest: str = "",
        changed: bool = False,
        packages: Sequence[str] = (),
        network: bool = False,
        untrusted_in: str = "",
    ) -> None:
        options = " --run" if tool == "run_skill_command" else ""
        options += (" --network" if network else "") + (" --packages" if packages else "")
        command = f"skillhub permissions allow{' ' * bool(rule_name)}{rule_name and _as_a_word(rule_name)}{options}"
        because = ""
        if untrusted_in:
            because, command = ": its project awaits trust", "skillhub trust"
        elif changed:
            because = ": its files have changed since it was allowed"
        elif packages:
            because = f": it fetches packages ({', '.join(packages)}) and runs with network access"
        super().__init__(
            f"{tool} of {skill_name!r} requires the user's consent{because}",
            hint=f"ask the user to run: {command}",
            facts={"tool": tool, "skill_name": skill_name},
        )
        self.tool = tool
        self.skill_name = skill_name
        self.description = description
        self.directory = directory
        self.rule_name = rule_name
        self.digest = digest
        self.changed = changed
        self.packages = tuple(packages)
        self.untrusted_in = untrusted_in
        self.network = network


# Without a path, which not everybody may read who is told.
CLOSE_TO_OTHERS = "see that only you can write it (chmod go-w); `skillhub doctor` has the command for it"


class PolicyUnreadable(SkillHubError):
    """A file of rules or choices exists and is invalid, or somebody else may write it.

    `path` is its path, for logs and the command line, or that of the directory that lets others at it.
    """

    code = "POLICY_UNREADABLE"
    fix = "fix or remove it; nothing is loaded until then"

    def __init__(self, what: str, *, path: str, reason: str, fix: str | None = None) -> None:
        self.fix = fix or self.fix
        super().__init__(f"{what} cannot be used: {reason}", hint=self.fix)
        self.what = what
        self.path = path
        self.reason = reason


class TokensUnreadable(PolicyUnreadable):
    """A file of tokens is missing or invalid: a server does not start, and a running one refuses every request."""

    code = "TOKENS_UNREADABLE"
    fix = (
        "fix it; where it is missing, or you removed it, `skillhub token new NAME` makes a new one; every request is "
        "refused until then"
    )


class RootsUnreadable(PolicyUnreadable):
    """The person's roots.json exists and is invalid: what it records is not searched."""

    code = "ROOTS_UNREADABLE"
    fix = "fix or remove it; only the default roots are searched until then"


class TrustUnreadable(PolicyUnreadable):
    """The person's trust.json exists and is invalid: no project is trusted."""

    code = "TRUST_UNREADABLE"
    fix = "fix or remove it; no project is trusted until then"


class ReviewsUnreadable(PolicyUnreadable):
    """The person's reviews.json exists and is invalid: no finding of the audit is accepted."""

    code = "REVIEWS_UNREADABLE"
    fix = "fix or remove it; no finding of the audit is accepted until then"


class PolicyUnwritable(SkillHubError):
    """A file of rules, choices, tokens, roots or agreements cannot be changed.

    `path` is what prevents it, for logs and shells.
    """

    code = "POLICY_UNWRITABLE"
    _fixes: ClassVar[Mapping[int, str]] = {
        errno.EACCES: "its directory must be writable for you",
        errno.EPERM: "its directory must be writable for you",
        errno.EROFS: "its file system is mounted read-only; name a file elsewhere",
        errno.EISDIR: "a directory has the place of the file; name a file in it",
        errno.ENOTDIR: "a part of its path is a file; name a file in a directory",
        errno.ENOSPC: "free some space, or name a file on another disk",
        errno.EDQUOT: "free some space, or name a file on another disk",
    }

    def __init__(
        self,
        what: str,
        *,
        path: str,
        reason: str,
        number: int | None = None,
        fix: str = "nothing was changed; try again",
    ) -> None:
        super().__init__(
            f"{what} cannot be written: {reason}",
            hint=fix if number is None else self._fixes.get(number, "name a file elsewhere"),
        )
        self.path = path


class RateLimited(SkillHubError):
    """An HTTP client exceeded a limit per minute; it may continue in `seconds`."""

    code = "RATE_LIMITED"

    def __init__(self, what: str, *, per_minute: int, seconds: int) -> None:
        super().__init__(
            f"This client sent more than {per_minute:,} {what} a minute",
            hint=f"wait {seconds} second{'s' if seconds > 1 else ''} and try again",
            facts={"per_minute": per_minute, "retry_after": seconds},
        )
        self.seconds = seconds


class ServerBusy(SkillHubError):
    """An HTTP server has no thread for another request now."""

    code = "SERVER_BUSY"
    seconds: ClassVar[int] = 1

    def __init__(self) -> None:
        super().__init__(
            "This server has no place for another request now",
            hint="try again in a second",
            facts={"retry_after": self.seconds},
        )


class BlockedByHook(SkillHubError):
    """A PreToolUse hook of the server's operator blocked the call; `reason` is the hook's message."""

    code = "BLOCKED_BY_HOOK"

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(
            f"A hook blocked {tool}: {reason}",
            hint="do what the hook says, or continue without this call",
            facts={"tool": tool},
        )


class SkillUnreadable(SkillHubError):
    """A skill's SKILL.md cannot be read or parsed now. `path` is its path, for logs and the command line.

    One that `is_being_written` may be whole in a moment.
    """

    code = "SKILL_UNREADABLE"

    def __init__(self, name: str, *, path: str, reason: str, is_being_written: bool = False) -> None:
        hint = "it was written a moment ago: call again" if is_being_written else "fix or remove the file"
        super().__init__(f"The SKILL.md of {name!r} cannot be used: {reason}", hint=hint, facts={"skill_name": name})
        self.name = name
        self.path = path


class SkillUnverifiable(SkillHubError):
    """Not all of a skill's files can be looked at, so nobody can tell whether they are what was approved."""

    code = "SKILL_UNVERIFIABLE"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"The files of {name!r} cannot be compared with what was approved: {reason}",
            hint="remove what does not belong to the skill, or make all of its files readable",
            facts={"skill_name": name},
        )


class RootUnavailable(SkillHubError):
    """The skill is known, and its skills directory is missing or empty now. `path` is that directory."""

    code = "ROOT_UNAVAILABLE"

    def __init__(self, name: str, *, path: str, reason: str) -> None:
        super().__init__(
            f"{name!r} cannot be read now: its skills directory {os.path.basename(path)!r} {reason}",
            hint="continue without it, or try again later; the server's owner mounts or restores the directory",
            facts={"skill_name": name},
        )


class SkillFilesUnavailable(SkillHubError):
    """A replica knows the skill, has not got its files yet, and the storage of the publication does not give them."""

    code = "FILES_UNAVAILABLE"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"The files of {name!r} are not in this replica's mirror, and cannot be fetched: {reason}",
            hint="call again in a minute; skills that were loaded before can still be loaded",
            facts={"skill_name": name},
        )


class SkillFileNotFound(SkillHubError):
    """The skill has no such file."""

    code = "FILE_NOT_FOUND"

    def __init__(self, skill: str, file_path: str, reason: str = "does not exist", *, hint: str | None = None) -> None:
        super().__init__(
            f"{file_path!r} {reason} in skill {skill!r}", hint=hint, facts={"skill_name": skill, "file_path": file_path}
        )
        self.reason = reason


class ResourceNotFound(SkillHubError):
    """Nothing is served at that URI, or not the kind of resource that was requested."""

    code = "RESOURCE_NOT_FOUND"

    def __init__(self, uri: str, reason: str = "is not served", *, hint: str | None = None) -> None:
        shown = uri if len(uri) <= _SHOWN_URI_CHARACTERS else f"{uri[:_SHOWN_URI_CHARACTERS]}…"
        super().__init__(f"{shown!r} {reason}", hint=hint, facts={"uri": uri})


class PathNotAllowed(SkillHubError):
    """The path leads outside the skill's directory, or to a file that is not served."""

    code = "PATH_NOT_ALLOWED"

    def __init__(self, file_path: str, reason: str) -> None:
        super().__init__(
            f"{file_path!r} {reason}",
            hint="give a path relative to the skill's directory, such as 'references/guide.md'",
            facts={"file_path": file_path},
        )
        self.reason = reason


class CommandNotAllowed(SkillHubError):
    """The command is not on the allow list."""

    code = "COMMAND_NOT_ALLOWED"

    def __init__(self, command: str, *, allowed: Sequence[str]) -> None:
        listed = ", ".join(allowed) or "none"
        is_line = len(command.split()) > 1
        mend = "give the name alone, and what follows it as args" if is_line else "give the name without a path"
        super().__init__(
            f"{command!r} is not an allowed command",
            hint=f"allowed commands: {listed}; {mend}",
            facts={"command": command, "allowed": list(allowed)},
        )


class CommandUnavailable(SkillHubError):
    """A program is not installed: one that a skill's command names, or that the hub needs itself (`reason`)."""

    code = "COMMAND_UNAVAILABLE"

    def __init__(self, command: str, *, reason: str = "", hint: str | None = None) -> None:
        super().__init__(
            f"{command!r} {reason or 'is allowed but is not installed where the server runs'}",
            hint=hint or "install it, or run the skill's script in your own terminal",
            facts={"command": command},
        )
        self.command = command


class SandboxUnavailable(SkillHubError):
    """bubblewrap does not work where the server runs; `reason` has the system's words."""

    code = "SANDBOX_UNAVAILABLE"

    def __init__(self, reason: str, *, hint: str = "run the skill's script in your own terminal") -> None:
        super().__init__(
            f"A skill's command cannot be confined here: {reason}",
            hint=f"{hint}; SKILLHUB_SANDBOX=off runs commands unconfined, with every right of the server's user",
            facts={"reason": reason},
        )
        self.reason = reason


class SandboxFailed(SkillHubError):
    """The sandbox of one command could not be started, and nothing was run. `reason`, for the log, may name paths."""

    code = "SANDBOX_FAILED"

    def __init__(self, command: str, *, reason: str) -> None:
        super().__init__(
            f"Could not start the sandbox for {command!r}; nothing was run",
            hint="try again; the server's log has the reason, and skillhub doctor tries the sandbox",
        )
        self.reason = reason


class SandboxRequired(SkillHubError):
    """SKILLHUB_SANDBOX=off, and the caller may not have every skill: an unconfined command could read the others."""

    code = "SANDBOX_REQUIRED"

    def __init__(self) -> None:
        super().__init__(
            "Commands are not run here without a sandbox, because not every skill may be loaded: a filter, a choice "
            "or a rule decides which",
            hint="continue without it; the server's operator can remove SKILLHUB_SANDBOX=off, or the filter",
        )


class PackagesUnavailable(SkillHubError):
    """The packages that a `script` declares (PEP 723) could not be fetched, or must not be."""

    code = "PACKAGES_UNAVAILABLE"

    def __init__(self, script: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"The packages of {script!r} cannot be installed: {reason}",
            hint=hint or "try again, or run the script in your own terminal",
            facts={"script": script},
        )


class ExecutionTimeout(SkillHubError):
    """The command ran longer than allowed; it and its children were killed."""

    code = "EXECUTION_TIMEOUT"

    def __init__(self, command: str, *, seconds: float) -> None:
        super().__init__(
            f"{command!r} was killed after {seconds:g} seconds",
            hint="reduce its input, or raise EXEC_TIMEOUT_SECONDS",
            facts={"command": command, "seconds": seconds},
        )


class QueriesUnreadable(SkillHubError):
    """A file of queries or skill ids, or a usage log, is invalid; `line` is 0 where the error is not in one line."""

    code = "QUERIES_UNREADABLE"

    def __init__(self, path: str, line: int, reason: str, *, hint: str = "") -> None:
        super().__init__(
            f"{path}:{line} {reason}" if line else f"{path} {reason}",
            hint=hint or "skillhub eval run --help shows a line of such a file",
            facts={"path": path, "line": line},
        )
        self.line = line


class ClientFileRefused(SkillHubError):
    """A client's file was left as it is: it cannot be read, changed safely or written. `reason` completes `it …`."""

    code = "CLIENT_FILE_REFUSED"

    def __init__(self, path: str, reason: str, *, hint: str | None = None, name_taken: bool = False) -> None:
        super().__init__(f"{path} was left as it is: {reason}", hint=hint, facts={"path": path, "reason": reason})
        self.path = path
        self.reason = reason
        # Whether another server has the name that our entry was to have.
        self.name_taken = name_taken


class OutputUnwritable(SkillHubError):
    """The file that a command was told to write its result to cannot be written; what was there is unchanged."""

    code = "OUTPUT_UNWRITABLE"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be written: {reason}",
            hint="see that you can write its directory and that its disk has room, or name a file elsewhere",
            facts={"path": path},
        )


class TerminalUnavailable(SkillHubError):
    """A command draws on a terminal, and the process has none."""

    code = "TERMINAL_UNAVAILABLE"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"There is no terminal to pick a skill on ({reason})",
            hint="skillhub pick --list WORDS prints the skills that fit, and skillhub search TASK those for a task",
        )


class IndexUnavailable(SkillHubError):
    """No index can answer searches: it is being built for the first time, or cannot be built."""

    code = "INDEX_UNAVAILABLE"


class StorageUnavailable(SkillHubError):
    """The storage of a publication cannot be reached, or fails again and again. `target` is shown without secrets."""

    code = "STORAGE_UNAVAILABLE"

    def __init__(self, target: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"{target} cannot be used: {reason}",
            hint=hint or "try again later; what was published before stays as it was",
            facts={"target": target},
        )
        self.reason = reason


class StorageRefused(StorageUnavailable):
    """The storage answers, and refuses: credentials, permissions, or a bucket that is not there."""

    code = "STORAGE_REFUSED"

    def __init__(self, target: str, reason: str) -> None:
        super().__init__(
            target, reason, hint="look at the bucket's name and rights, and at SKILLHUB_STORAGE_OPTIONS or AWS_*"
        )


class StorageNotInstalled(SkillHubError):
    """Object storage needs the extra `storage`."""

    code = "STORAGE_NOT_INSTALLED"

    def __init__(self, target: str) -> None:
        super().__init__(
            f"{target} cannot be used: the package obstore is not installed",
            hint="install SkillHub with its extra 'storage', or name a directory",
            facts={"target": target},
        )


class PublicationMissing(SkillHubError):
    """There is no publication at `target`, or it has no snapshot of that id."""

    code = "PUBLICATION_MISSING"

    def __init__(self, target: str, snapshot: str = "") -> None:
        super().__init__(
            f"{target} has no snapshot {snapshot!r}" if snapshot else f"Nothing was published to {target} yet",
            hint=f"skillhub snapshots list {_as_a_word(target)} shows those that there are"
            if snapshot
            else "skillhub publish writes there",
            facts={"target": target, "snapshot": snapshot},
        )
        self.snapshot = snapshot


class PublicationDamaged(SkillHubError):
    """A part of a publication is not what was written, or was written by a newer version. `part` is its path there."""

    code = "PUBLICATION_DAMAGED"

    def __init__(self, target: str, part: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"{part} in {target} {reason}",
            hint=hint or "publish again, or choose an earlier snapshot with skillhub snapshots",
            facts={"target": target, "part": part},
        )
        self.part = part
        self.reason = reason


class PublicationBusy(SkillHubError):
    """Another publisher holds the lease; `holder` is the word it gave for itself."""

    code = "PUBLICATION_BUSY"

    def __init__(self, target: str, holder: str) -> None:
        super().__init__(
            f"{target} is being written by {holder}",
            hint="try again when that is done, or wait longer with --wait",
            facts={"target": target, "holder": holder},
        )


class LeaseLost(SkillHubError):
    """Another publisher took over, since this one was not heard of for too long. Nothing was published."""

    code = "LEASE_LOST"

    def __init__(self, target: str) -> None:
        super().__init__(
            f"Another publisher has taken over {target}; nothing was published",
            hint="publish again: what was uploaded is used",
            facts={"target": target},
        )


class LibraryChanging(SkillHubError):
    """The files of skills changed while they were being published, again and again; `skills` are some of them."""

    code = "LIBRARY_CHANGING"

    def __init__(self, skills: Sequence[str]) -> None:
        super().__init__(
            f"Skills changed while they were being published: {', '.join(skills)}; nothing was published",
            hint="publish again when nothing writes to them",
            facts={"skills": list(skills)},
        )


class SourceUnreadable(SkillHubError):
    """What was typed names no source of skills; `reason` says what is wrong with it."""

    code = "SOURCE_UNREADABLE"

    def __init__(self, source: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{source!r} {reason}", hint=hint, facts={"source": source})


class SourceUnreachable(SkillHubError):
    """A source, or a ref, path or skill of it, cannot be had now; `near` are refs or paths like the one asked for."""

    code = "SOURCE_UNREACHABLE"

    def __init__(self, source: str, reason: str, *, near: Sequence[str] = (), hint: str | None = None) -> None:
        guess = "did you mean " + " or ".join(near) + "?" if near else None
        super().__init__(f"{source} {reason}", hint=hint or guess, facts={"source": source, "near": list(near)})
        self.near = tuple(near)


class ArchiveRefused(SkillHubError):
    """An archive, or a skill of a tree, has an entry that is never unpacked; none of it was written."""

    code = "ARCHIVE_REFUSED"

    def __init__(self, source: str, reason: str, *, entry: str = "", hint: str | None = None) -> None:
        named = f"{entry!r} " if entry else ""
        super().__init__(f"{source} is refused: {named}{reason}", hint=hint, facts={"source": source, "entry": entry})
        self.entry = entry


class IntegrityFailed(SkillHubError):
    """Something fetched or signed is not what an index or a lock promised."""

    code = "INTEGRITY_FAILED"

    def __init__(self, subject: str, *, expected: str, found: str, hint: str | None = None) -> None:
        super().__init__(
            f"{subject} is not what was promised: expected {expected}, found {found}",
            hint=hint,
            facts={"subject": subject, "expected": expected, "found": found},
        )
        self.expected = expected
        self.found = found


class SkillConflict(SkillHubError):
    """A skill cannot be installed or updated as it is: its name is taken, or both sides changed `files`."""

    code = "CONFLICT"

    def __init__(self, skill: str, reason: str, *, files: Sequence[str] = (), hint: str) -> None:
        super().__init__(f"{skill!r} {reason}", hint=hint, facts={"skill": skill, "files": list(files)})
        self.files = tuple(files)


class LockUnreadable(SkillHubError):
    """A lock of skills cannot be read, at `line` if that is known. It is never reset and never written over."""

    code = "LOCK_UNREADABLE"

    def __init__(self, path: str, reason: str, *, line: int | None = None, hint: str | None = None) -> None:
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place} cannot be read: {reason}", hint=hint, facts={"path": path, "line": line})
        self.path = path
        self.line = line


class LibraryBusy(SkillHubError):
    """Another command is changing the skills directory, and did not end while this one waited."""

    code = "LIBRARY_BUSY"

    def __init__(self, root: str) -> None:
        super().__init__(
            f"{root} is being changed by another command", hint="try again when that is done", facts={"root": root}
        )


class LibraryUnwritable(SkillHubError):
    """The skills directory cannot be written. What had been begun was taken back.

    Where it is `begun`, it could not be yet: the next command, or a server that starts, takes it back.
    """

    code = "LIBRARY_UNWRITABLE"

    def __init__(self, path: str, reason: str, *, hint: str | None = None, begun: bool = False) -> None:
        state = "what was begun could not be taken back yet" if begun else "nothing was changed"
        super().__init__(f"{path} cannot be written: {reason}; {state}", hint=hint, facts={"path": path})
        self.path = path


class SkillChanged(SkillHubError):
    """A locked skill is withheld: `file` is not what was locked, or for another `reason`; else no lock names it.

    `option` has `skillhub verify` read the library that the skill is of.
    """

    code = "SKILL_CHANGED"

    def __init__(
        self, name: str, file: str = "", *, reason: str = "", hint: str | None = None, option: str = ""
    ) -> None:
        told = reason or (f"its file {file!r} is not the one that was locked" if file else "no lock names it")
        verify = " ".join(filter(None, ["skillhub verify", option]))
        super().__init__(
            f"{name!r} is withheld: {told}",
            hint=hint or f"`{verify}` lists every file that differs",
            facts={"skill": name, "file": file},
        )
        self.file = file


class EmbeddingError(SkillHubError):
    """The embedding provider failed, timed out, or returned an invalid response."""

    code = "EMBEDDING_FAILED"


class RerankingError(SkillHubError):
    """The model that reorders hits failed, or returned an invalid response."""

    code = "RERANKING_FAILED"
