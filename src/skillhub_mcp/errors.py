"""The errors that SkillHub expects: for each code its meaning, message and hint."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from shlex import quote
from typing import Any, ClassVar, Literal

from skillhub_mcp.redaction import redacted

_SHOWN_URI_CHARACTERS = 200
# A source may have thousands of one name.
_MOST_CANDIDATES = 20
# Without a path, which not every caller may read.
CLOSE_TO_OTHERS = "see that only you can write it (chmod go-w); `skillhub doctor` has the command for it"


class SkillHubError(Exception):
    """The base: a sentence, how to fix it, and JSON facts for programs, all without secrets in URLs."""

    code: ClassVar[str] = "SKILLHUB_ERROR"

    def __init_subclass__(cls, code: str = "") -> None:
        cls.code = code or cls.code

    def __init__(self, message: str, *, hint: str | None = None, **facts: Any) -> None:
        self.message = redacted(message)
        self.hint = None if hint is None else redacted(hint)
        self.facts = {key: _without_secrets(value) for key, value in facts.items()}
        super().__init__(self.message)


def _without_secrets(fact: Any) -> Any:
    if isinstance(fact, list):
        return [_without_secrets(one) for one in fact]
    return redacted(fact) if isinstance(fact, str) else fact


class _About(SkillHubError):
    """An error about one thing: `text` is its sentence, and `fact` the name of the subject among the facts, if any."""

    text: ClassVar[str] = "{subject!r} {reason}"
    fix: ClassVar[str | None] = None
    fact: ClassVar[str] = ""

    def __init_subclass__(cls, code: str = "", fact: str = "") -> None:
        super().__init_subclass__(code)
        cls.fact = fact or cls.fact

    def __init__(self, subject: str = "", reason: str = "", *, hint: str | None = None) -> None:
        message = self.text.format(subject=subject, reason=reason)
        super().__init__(message, hint=hint or self.fix, **({self.fact: subject} if self.fact else {}))
        self.subject = subject
        self.reason = reason


class InvalidSetting(SkillHubError, code="INVALID_SETTING"):
    """A setting's value is invalid, or lacks another setting that it requires."""

    def __init__(self, setting: str, value: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{setting}={value!r} {reason}", hint=hint, setting=setting, value=value)
        self.setting = setting


class InvalidArgument(_About, code="INVALID_ARGUMENT", fact="argument"):
    """An argument of a call, or of a command line, is invalid."""

    text = "{subject} {reason}"


class ToolNotFound(SkillHubError, code="TOOL_NOT_FOUND"):
    """No tool with that name is offered; `tools` are those that are. A `known` one is in a set that is not enabled."""

    def __init__(self, name: str, *, tools: Sequence[str], near: Sequence[str] = (), known: bool = False) -> None:
        guess = f"did you mean {' or '.join(near)}? A" if near else "a"
        message = f"{name} is not enabled on this server" if known else f"No tool is named {name!r}"
        hint = f"{guess}vailable tools: {', '.join(tools) or 'none'}"
        super().__init__(message, hint=hint, tool=name, near=list(near), tools=list(tools))


class SkillNotFound(SkillHubError, code="SKILL_NOT_FOUND"):
    """No skill has that name, or there is none at all; `near` holds the most similar names."""

    def __init__(
        self, name: str, *, near: Sequence[str] = (), hint: str | None = None, reason: str = "", path: str | None = None
    ) -> None:
        message = f"No skill is named {name!r}" if name else "No skill is there"
        super().__init__(f"{message}: {reason}" if reason else message, hint=hint, skill_name=name, near=list(near))
        self.name = name
        self.near = tuple(near)
        self.path = path


class AmbiguousSkill(SkillHubError, code="AMBIGUOUS_SKILL"):
    """Several skills have the name; `candidates` are their paths, or their ids for a client that gets no paths."""

    def __init__(self, name: str, *, candidates: Sequence[str], kind: Literal["paths", "ids"] = "paths") -> None:
        given = "give one of their paths" if kind == "paths" else "give one of their ids as path"
        named = list(candidates[:_MOST_CANDIDATES])
        hint = f"{given}: {', '.join(named)}{', …' if len(candidates) > len(named) else ''}"
        super().__init__(f"{len(candidates)} skills are named {name!r}", hint=hint, skill_name=name, candidates=named)


class SkillDisabled(SkillHubError, code="SKILL_DISABLED"):
    """The skill exists, but a `setting` of this server excludes it, or, without one, the user disabled it."""

    def __init__(self, name: str, *, setting: str | None = None) -> None:
        # What begins with a dash would be taken for an option.
        end = "-- " if name.startswith("-") else ""
        fix = setting or f"`skillhub enable {end}{quote(name)}`"
        message = f"Skill {name!r} is {'disabled' if setting is None else 'not enabled on this server'}"
        hint = f"the server's operator can enable it with {fix}; a search finds enabled skills"
        super().__init__(message, hint=hint, skill_name=name, **({} if setting is None else {"setting": setting}))


class SkillUntrusted(_About, code="SKILL_UNTRUSTED", fact="skill_name"):
    """The skill belongs to a project that is not trusted, and SKILLHUB_TRUST=none leaves such out."""

    text = "Skill {subject!r} comes with a project that its user has not agreed to trust"
    fix = "ask the user to look at it with `skillhub trust`; a search finds other skills"


class SkillWithheld(SkillHubError, code="SKILL_WITHHELD"):
    """The audit found something critical in the skill: SKILLHUB_AUDIT=block withholds such, and `add` refuses them."""

    def __init__(self, name: str, *, rule: str, place: str, hint: str | None = None) -> None:
        usual = "do without it; its user can read it with `skillhub audit PATH`, and accept it with `--accept`"
        message = f"Skill {name!r} is withheld: the audit found something critical in it ({rule}, {place})"
        super().__init__(message, hint=hint or usual, skill_name=name, rule=rule)


class PermissionDenied(SkillHubError, code="PERMISSION_DENIED"):
    """A rule denies `tool`, for every skill or for `skill_name`, or the user did when asked (`by_user`)."""

    def __init__(self, tool: str, skill_name: str | None = None, *, by_user: bool = False) -> None:
        what = tool if skill_name is None else f"{tool} of {skill_name!r}"
        rest = "do not ask again" if by_user else "`skillhub allow` lists the rules"
        message = f"The user did not consent to {what}" if by_user else f"A rule denies {what}"
        named = {} if skill_name is None else {"skill_name": skill_name}
        super().__init__(message, hint=f"continue without it; {rest}", tool=tool, **named)


class RunNotPermitted(_About, code="RUN_NOT_PERMITTED"):
    """The caller's token does not let its bearer run commands."""

    text = "This caller's token does not permit running commands"
    fix = "continue without it; the server's operator can create a token with `skillhub token new NAME --may-run`"


@dataclass(eq=False, repr=False)
class ConfirmationRequired(SkillHubError, code="CONFIRMATION_REQUIRED"):
    """The user must consent, as the rules neither allow nor deny it or it awaits trust, and the client cannot ask."""

    tool: str
    skill_name: str
    _: KW_ONLY
    description: str
    directory: str
    rule_name: str
    digest: str = ""
    changed: bool = False
    packages: Sequence[str] = ()
    network: bool = False
    untrusted_in: str = ""

    def __post_init__(self) -> None:
        options = " --run" if self.tool == "run_skill_command" else ""
        options += (" --network" if self.network else "") + (" --packages" if self.packages else "")
        name = f" {quote(self.rule_name)}" if self.rule_name else ""
        because, command = "", f"skillhub allow{name}{options}"
        if self.untrusted_in:
            because, command = ": its project awaits trust", "skillhub trust"
        elif self.changed:
            because = ": its files have changed since it was allowed"
        elif self.packages:
            because = f": it fetches packages ({', '.join(self.packages)}) and runs with network access"
        message = f"{self.tool} of {self.skill_name!r} requires the user's consent{because}"
        super().__init__(message, hint=f"ask the user to run: {command}", tool=self.tool, skill_name=self.skill_name)


class PolicyUnreadable(SkillHubError, code="POLICY_UNREADABLE"):
    """A file of rules, choices, tokens, roots, trust or reviews is invalid or missing, or others may write it.

    `path` is the file or the directory; `fix` also says what is not done until then.
    """

    def __init__(self, what: str, *, path: str, reason: str, fix: str) -> None:
        super().__init__(f"{what} cannot be used: {reason}", hint=fix)
        self.what = what
        self.path = path
        self.reason = reason
        self.fix = fix


class PolicyUnwritable(SkillHubError, code="POLICY_UNWRITABLE"):
    """A file of rules, choices, tokens, roots or agreements cannot be changed; `number` is the errno."""

    def __init__(self, what: str, *, path: str, reason: str, number: int | None = None, fix: str = "") -> None:
        hint = fix or "nothing was changed; try again"
        if number is not None:
            is_full = number in (errno.ENOSPC, errno.EDQUOT)
            hint = "free some space on its disk" if is_full else "make its directory writable for you"
            hint += ", or name a file elsewhere"
        super().__init__(f"{what} cannot be written: {reason}", hint=hint)
        self.path = path


class RateLimited(SkillHubError, code="RATE_LIMITED"):
    """An HTTP client exceeded a limit per minute; it may continue in `seconds`."""

    def __init__(self, what: str, *, per_minute: int, seconds: int) -> None:
        message = f"This client sent more than {per_minute:,} {what} a minute"
        hint = f"wait {seconds} second{'s' if seconds > 1 else ''} and try again"
        super().__init__(message, hint=hint, per_minute=per_minute, retry_after=seconds)
        self.seconds = seconds


class BlockedByHook(_About, code="BLOCKED_BY_HOOK", fact="tool"):
    """A PreToolUse hook of the server's operator blocked the call; `reason` is the hook's message."""

    text = "A hook blocked {subject}: {reason}"
    fix = "do what the hook says, or continue without this call"


class SkillUnreadable(SkillHubError, code="SKILL_UNREADABLE"):
    """A skill's SKILL.md cannot be read or parsed now."""

    def __init__(self, name: str, *, path: str, reason: str) -> None:
        hint = "fix or remove the file; if it is being written, call again"
        super().__init__(f"The SKILL.md of {name!r} cannot be used: {reason}", hint=hint, skill_name=name)
        self.path = path


class SkillUnverifiable(_About, code="SKILL_UNVERIFIABLE", fact="skill_name"):
    """Not all of a skill's files can be read, so they cannot be compared with what was approved."""

    text = "The files of {subject!r} cannot be compared with what was approved: {reason}"
    fix = "remove what does not belong to the skill, or make all of its files readable"


class RootUnavailable(_About, code="ROOT_UNAVAILABLE", fact="skill_name"):
    """The skill is known, and its skills directory is missing or empty now."""

    text = "{subject!r} cannot be read now: {reason}"
    fix = "continue without it, or try again later; the server's owner mounts or restores the directory"


class SkillFilesUnavailable(_About, code="FILES_UNAVAILABLE", fact="skill_name"):
    """A replica knows the skill, has not got its files yet, and the storage of the publication does not give them."""

    text = "The files of {subject!r} are not in this replica's mirror, and cannot be fetched: {reason}"
    fix = "call again in a minute; skills that were loaded before can still be loaded"


class SkillFileNotFound(SkillHubError, code="FILE_NOT_FOUND"):
    """The skill has no such file."""

    def __init__(self, skill: str, file_path: str, reason: str = "does not exist", *, hint: str | None = None) -> None:
        super().__init__(f"{file_path!r} {reason} in skill {skill!r}", hint=hint, skill_name=skill, file_path=file_path)
        self.reason = reason


class ResourceNotFound(SkillHubError, code="RESOURCE_NOT_FOUND"):
    """Nothing is served at that URI, or not the kind of resource that was requested."""

    def __init__(self, uri: str, reason: str = "is not served", *, hint: str | None = None) -> None:
        shown = uri if len(uri) <= _SHOWN_URI_CHARACTERS else f"{uri[:_SHOWN_URI_CHARACTERS]}…"
        super().__init__(f"{shown!r} {reason}", hint=hint, uri=uri)


class PathNotAllowed(_About, code="PATH_NOT_ALLOWED", fact="file_path"):
    """The path leads outside the skill's directory, or to a file that is not served."""

    fix = "give a path relative to the skill's directory, such as 'references/guide.md'"


class CommandNotAllowed(SkillHubError, code="COMMAND_NOT_ALLOWED"):
    """The command is not on the allow list."""

    def __init__(self, command: str, *, allowed: Sequence[str]) -> None:
        is_line = len(command.split()) > 1
        fix = "give the name alone, and what follows it as args" if is_line else "give the name without a path"
        hint = f"allowed commands: {', '.join(allowed) or 'none'}; {fix}"
        super().__init__(f"{command!r} is not an allowed command", hint=hint, command=command, allowed=list(allowed))


class CommandUnavailable(_About, code="COMMAND_UNAVAILABLE", fact="command"):
    """A program is not installed: one that a skill's command names, or that the hub needs itself (`reason`)."""

    fix = "install it, or run the skill's script in your own terminal"

    def __init__(self, subject: str, reason: str = "", *, hint: str | None = None) -> None:
        super().__init__(subject, reason or "is allowed but is not installed where the server runs", hint=hint)


class SandboxUnavailable(SkillHubError, code="SANDBOX_UNAVAILABLE"):
    """bubblewrap does not work where the server runs; `reason` has the system's words."""

    def __init__(self, reason: str, *, hint: str = "run the skill's script in your own terminal") -> None:
        message = f"A skill's command cannot be confined here: {reason}"
        hint = f"{hint}; SKILLHUB_SANDBOX=off runs commands unconfined, with every right of the server's user"
        super().__init__(message, hint=hint, reason=reason)
        self.reason = reason


class SandboxFailed(_About, code="SANDBOX_FAILED"):
    """The sandbox of one command could not be started, and nothing was run. `reason`, for the log, may name paths."""

    text = "Could not start the sandbox for {subject!r}; nothing was run"
    fix = "try again; the server's log has the reason, and skillhub doctor tries the sandbox"


class SandboxRequired(_About, code="SANDBOX_REQUIRED"):
    """SKILLHUB_SANDBOX=off, and the caller may not have every skill: an unconfined command could read the others."""

    text = (
        "Commands are not run here without a sandbox, because not every skill may be loaded: a filter, a choice or a "
        "rule decides which"
    )
    fix = "continue without it; the server's operator can remove SKILLHUB_SANDBOX=off, or the filter"


class PackagesUnavailable(_About, code="PACKAGES_UNAVAILABLE", fact="script"):
    """The packages that a script declares (PEP 723) could not be fetched, or must not be."""

    text = "The packages of {subject!r} cannot be installed: {reason}"
    fix = "try again, or run the script in your own terminal"


class ExecutionTimeout(SkillHubError, code="EXECUTION_TIMEOUT"):
    """The command ran longer than allowed; it and its children were killed."""

    def __init__(self, command: str, *, seconds: float) -> None:
        hint = "reduce its input, or raise EXEC_TIMEOUT_SECONDS"
        super().__init__(
            f"{command!r} was killed after {seconds:g} seconds", hint=hint, command=command, seconds=seconds
        )


class QueriesUnreadable(SkillHubError, code="QUERIES_UNREADABLE"):
    """A file of queries or skill ids, or a usage log, is invalid; `line` is 0 where the error is not in one line."""

    def __init__(self, path: str, line: int, reason: str, *, hint: str = "") -> None:
        place = f"{path}:{line}" if line else path
        hint = hint or "skillhub eval run --help shows a line of such a file"
        super().__init__(f"{place} {reason}", hint=hint, path=path, line=line)


class ClientFileRefused(SkillHubError, code="CLIENT_FILE_REFUSED"):
    """A client's file was left as it is: it cannot be read, changed safely or written."""

    def __init__(self, path: str, reason: str, *, hint: str | None = None, name_taken: bool = False) -> None:
        super().__init__(f"{path} was left as it is: {reason}", hint=hint, path=path, reason=reason)
        self.path = path
        self.reason = reason
        self.name_taken = name_taken


class OutputUnwritable(_About, code="OUTPUT_UNWRITABLE", fact="path"):
    """The file for the result of a command cannot be written; what was there is unchanged."""

    text = "{subject} cannot be written: {reason}"
    fix = "see that you can write its directory and that its disk has room, or name a file elsewhere"


class IndexUnavailable(SkillHubError, code="INDEX_UNAVAILABLE"):
    """No index can answer searches: it is being built for the first time, or cannot be built."""


class StorageUnavailable(_About, code="STORAGE_UNAVAILABLE", fact="target"):
    """The storage of a publication cannot be reached, or fails again and again. The target is shown without secrets."""

    text = "{subject} cannot be used: {reason}"
    fix = "try again later; what was published before stays as it was"


class StorageRefused(StorageUnavailable, code="STORAGE_REFUSED"):
    """The storage answers, and refuses: credentials, permissions, or a bucket that is not there."""

    fix = "check the bucket's name, your permissions, and SKILLHUB_STORAGE_OPTIONS or AWS_*"


class PublicationMissing(SkillHubError, code="PUBLICATION_MISSING"):
    """There is no publication at `target`, or none of that number is kept."""

    def __init__(self, target: str, number: int = 0) -> None:
        message, hint = f"Nothing was published to {target} yet", "skillhub publish writes there"
        if number:
            message = f"{target} keeps no publication {number}"
            hint = f"skillhub publish {quote(target)} --list shows those that are kept"
        super().__init__(message, hint=hint, target=target, number=number)


class PublicationDamaged(SkillHubError, code="PUBLICATION_DAMAGED"):
    """A part of a publication is not what was written, or was written by a newer version. `part` is its path there."""

    def __init__(self, target: str, part: str, reason: str, *, hint: str | None = None) -> None:
        usual = f"skillhub publish {quote(target)} --rebuild, where the skills are, writes it again"
        super().__init__(f"{part} in {target} {reason}", hint=hint or usual, target=target, part=part)


class PublicationBusy(_About, code="PUBLICATION_BUSY", fact="target"):
    """Other publishers won every attempt."""

    text = "Others are publishing to {subject}; nothing was published"
    fix = "publish again when they are done"


class LibraryChanging(SkillHubError, code="LIBRARY_CHANGING"):
    """The files of skills changed while they were being published, again and again; `skills` are some of them."""

    def __init__(self, skills: Sequence[str]) -> None:
        message = f"Skills changed while they were being published: {', '.join(skills)}; nothing was published"
        super().__init__(message, hint="publish again when nothing writes to them", skills=list(skills))


class SourceUnreadable(_About, code="SOURCE_UNREADABLE", fact="source"):
    """The text is not a source of skills; `reason` says why."""


class SourceUnreachable(SkillHubError, code="SOURCE_UNREACHABLE"):
    """A source, or a ref, path or skill of it, cannot be fetched; `near` are similar refs or paths."""

    def __init__(self, source: str, reason: str, *, near: Sequence[str] = (), hint: str | None = None) -> None:
        guess = f"did you mean {' or '.join(near)}?" if near else None
        super().__init__(f"{source} {reason}", hint=hint or guess, source=source, near=list(near))


class ArchiveRefused(SkillHubError, code="ARCHIVE_REFUSED"):
    """An archive, or a skill of a tree, has an entry that is never unpacked; none of it was written."""

    def __init__(self, source: str, reason: str, *, entry: str = "", hint: str | None = None) -> None:
        named = f"{entry!r} " if entry else ""
        super().__init__(f"{source} is refused: {named}{reason}", hint=hint, source=source, entry=entry)


class IntegrityFailed(SkillHubError, code="INTEGRITY_FAILED"):
    """Something fetched or signed is not what an index or a lock promised."""

    def __init__(self, subject: str, *, expected: str, found: str, hint: str | None = None) -> None:
        message = f"{subject} is not what was promised: expected {expected}, found {found}"
        super().__init__(message, hint=hint, subject=subject, expected=expected, found=found)
        self.found = found


class SkillConflict(SkillHubError, code="CONFLICT"):
    """A skill cannot be installed or updated as it is: its name is taken, or both sides changed `files`."""

    def __init__(self, skill: str, reason: str, *, files: Sequence[str] = (), hint: str) -> None:
        super().__init__(f"{skill!r} {reason}", hint=hint, skill=skill, files=list(files))


class LockUnreadable(SkillHubError, code="LOCK_UNREADABLE"):
    """A lock of skills cannot be read, at `line` if that is known. It is never reset and never written over."""

    def __init__(self, path: str, reason: str = "", *, line: int | None = None, hint: str | None = None) -> None:
        place = path if line is None else f"{path}:{line}"
        message = f"{place} cannot be read: {reason}" if reason else f"{path} does not exist"
        super().__init__(message, hint=hint, path=path, line=line)
        self.path = path


class LibraryBusy(_About, code="LIBRARY_BUSY", fact="root"):
    """Another command is changing the skills directory, and did not end while this one waited."""

    text = "{subject} is being changed by another command"
    fix = "try again when that is done"


class LibraryUnwritable(SkillHubError, code="LIBRARY_UNWRITABLE"):
    """The skills directory cannot be written; what had `begun` is undone, now or by the next command."""

    def __init__(self, path: str, reason: str, *, hint: str | None = None, begun: bool = False) -> None:
        state = "what was begun could not be taken back yet" if begun else "nothing was changed"
        super().__init__(f"{path} cannot be written: {reason}; {state}", hint=hint, path=path)


class SkillChanged(SkillHubError, code="SKILL_CHANGED"):
    """A locked skill is withheld: `file` is not what was locked, or for another `reason`; else no lock names it."""

    def __init__(
        self, name: str, file: str = "", *, reason: str = "", hint: str | None = None, option: str = ""
    ) -> None:
        differs = f"its file {file!r} is not the one that was locked" if file else "no lock names it"
        verify = f"`skillhub verify{option and f' {option}'}` names the command that restores it"
        super().__init__(f"{name!r} is withheld: {reason or differs}", hint=hint or verify, skill=name, file=file)


class EmbeddingError(SkillHubError, code="EMBEDDING_FAILED"):
    """The embedding provider failed, timed out, or returned an invalid response."""


class RerankingError(SkillHubError, code="RERANKING_FAILED"):
    """The model that reorders hits failed, or returned an invalid response."""
