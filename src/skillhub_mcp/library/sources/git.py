"""Running git for one source, with the person's own credentials and settings.

A repository is fetched into a bare one below a temporary directory and never checked out, so no hook or filter of it
runs. `git archive` gives the files, with attributes off, so they have the bytes of the commit. Every run is bounded in
time and bytes, and ends with all its children.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO

from skillhub_mcp._util.tempdir import remove_tree, scratch_directory
from skillhub_mcp.errors import CommandUnavailable, SourceUnreachable
from skillhub_mcp.execution.command_policy import absolute_path_entries
from skillhub_mcp.execution.program import Outcome, ProgramEnded, run_program
from skillhub_mcp.library.bounds import BOUNDS, in_mib
from skillhub_mcp.redaction import redacted
from skillhub_mcp.sanitize import in_line

_MAX_OUTPUT_BYTES = 64 * 1024 * 1024
_SHOWN_CHARACTERS = 300
_LARGEST_PIECE = "256m"
_INSTALL = (
    "install git (Debian: apt install git; macOS: xcode-select --install; Windows: winget install Git.Git); "
    "archives and directories work without it"
)
_PROTOCOLS = ("https", "ssh", "file")
# What git would take for the repository, its objects or its settings, as in a hook that runs us. `GIT_CONFIG_COUNT` and
# what belongs to it stay: a machine that builds gives its credentials so.
_REPOSITORY_VARIABLES = frozenset(
    "GIT_" + name
    for name in (
        *("ALTERNATE_OBJECT_DIRECTORIES", "ATTR_SOURCE", "CEILING_DIRECTORIES", "COMMON_DIR", "CONFIG"),
        *("CONFIG_PARAMETERS", "DEFAULT_HASH", "DIR", "EXEC_PATH", "GRAFT_FILE", "IMPLICIT_WORK_TREE", "INDEX_FILE"),
        *("INTERNAL_SUPER_PREFIX", "NAMESPACE", "NO_REPLACE_OBJECTS", "OBJECT_DIRECTORY", "PREFIX", "QUARANTINE_PATH"),
        *("REPLACE_REF_BASE", "SHALLOW_FILE", "TEMPLATE_DIR", "WORK_TREE", "PROTOCOL", "PROTOCOL_FROM_USER"),
    )
)
# Of the hub's own keys git and what it starts need none.
_OWN_VARIABLE = re.compile(r"SKILLHUB_|GIT_TRACE|.*_API_KEY\Z")
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.bigFileThreshold": "8m",
    "fetch.recurseSubmodules": "no",
    "fetch.unpackLimit": "1",
    "fetch.writeCommitGraph": "false",
    "fetch.fsckObjects": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "transfer.bundleURI": "false",
    "submodule.recurse": "false",
    "credential.interactive": "false",
    # A server that sends next to nothing is not waited for until the time is up.
    "http.lowSpeedLimit": "100",
    "http.lowSpeedTime": "30",
    "advice.detachedHead": "false",
}
# `.gitattributes` of a repository could leave files out of an archive, or change them.
_ATTRIBUTES = "* -export-ignore -export-subst -text -eol -filter -ident -working-tree-encoding\n"
_FETCH = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-gc")
_PREFIX = re.compile(r"\A(?:fatal|error|remote|warning): (?:(?:fatal|error): )?", re.IGNORECASE)
_LOG_IN = "is the name right? For a private one `git ls-remote {location}` must work in your terminal first"
_NO_REPOSITORY = "not appear to be a git repository"
_LEADS_ELSEWHERE = "it leads to an address that is not fetched from here: write that URL instead, if it is right"
_NETWORK = "look at the network and the host's name, and try again"
# Words of git and of servers, and what mends what they are about. The first that fits is told.
_FIXES = (
    ("dubious ownership", "it belongs to somebody else: git config --global --add safe.directory PATH"),
    ("host key verification failed", "connect to the host once with ssh, and look at its key"),
    ("not allowed", _LEADS_ELSEWHERE),
    ("libcurl", _LEADS_ELSEWHERE),
    ("redirect", _LEADS_ELSEWHERE),
    ("returned error: 30", _LEADS_ELSEWHERE),
    ("certificate", "this machine does not trust the host's certificate: see http.sslCAInfo in git-config(1)"),
    ("resolve host", _NETWORK),
    ("could not connect", _NETWORK),
    ("failed to connect", _NETWORK),
    ("connection", _NETWORK),
    ("unreachable", _NETWORK),
    ("no space left", "free space in the directory for temporary files, or name another in TMPDIR"),
    ("could not read", _LOG_IN),
    ("authentication failed", _LOG_IN),
    ("permission denied", _LOG_IN),
    ("not found", _LOG_IN),
    (_NO_REPOSITORY, _LOG_IN),
    ("not our ref", "no branch or tag of it has that commit: name a branch or a tag"),
    ("error: 403", _LOG_IN),
    ("error: 401", _LOG_IN),
)


@dataclass(frozen=True, slots=True)
class GitOptions:
    """How git is run: the process's environment, and the most that one source may take in seconds and bytes."""

    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    timeout_seconds: float = 300.0
    max_bytes: int = BOUNDS.fetched_bytes


class GitRepository:
    """An empty bare repository below a temporary directory, and git in it, for the source that `shown` names.

    `close` removes it. Raises CommandUnavailable where there is no git.
    """

    def __init__(self, location: str, shown: str, options: GitOptions) -> None:
        self.location = location
        self.shown = shown
        self._options = options
        self._git = find_git(options.environment)
        self._until_closed = ExitStack()
        self._top = self._until_closed.enter_context(scratch_directory("git"))
        self._directory = os.path.join(self._top, "repository")
        # Where git looks for hooks and templates, and finds none.
        self._empty = os.path.join(self._top, "none")
        try:
            os.mkdir(self._empty)
            self._environment = git_environment(options.environment, location)
            if location.startswith("ssh://") or "://" not in location:
                self._environment |= self._batch_mode()
        except BaseException:
            self.close()
            raise

    @property
    def directory(self) -> str:
        """A directory that is removed with the repository, for what git is to read beside it."""
        return self._top

    def initialise(self, object_format: str = "sha1") -> None:
        """Make the repository, anew if it was made before."""
        remove_tree(self._directory)
        options = () if object_format == "sha1" else (f"--object-format={object_format}",)
        self.run("init", "--quiet", "--bare", f"--template={self._empty}", *options, self._directory, outside=True)

    def fetch(self, ref: str) -> None:
        """Fetch the newest commit of a ref, or a commit, and nothing before it. Raises SourceUnreachable."""
        self.run("fetch", *_FETCH, "--depth=1", "--end-of-options", self.location, ref, excess=self._too_much)
        # It may be over before anybody looked.
        if excess := self._too_much():
            raise self.ended(ProgramEnded(excess))

    def list_refs(self, asked: Sequence[str]) -> bytes:
        """Return what `git ls-remote --symref` says. Raises SourceUnreachable."""
        options = [word for word in asked if word.startswith("--")]
        patterns = [word for word in asked if not word.startswith("--")]
        return self.run(
            "ls-remote", "--symref", "--quiet", *options, "--end-of-options", self.location, *patterns, outside=True
        )

    def run(
        self,
        *arguments: str,
        outside: bool = False,
        settings: Mapping[str, str] | None = None,
        excess: Callable[[], str] | None = None,
    ) -> bytes:
        """Return what git writes, in the repository unless `outside` of it. Raises SourceUnreachable where it fails."""
        output, outcome = self.try_run(*arguments, outside=outside, settings=settings, excess=excess)
        if outcome.exit_code != 0:
            raise self.unreachable(outcome.messages)
        return output

    def try_run(
        self,
        *arguments: str,
        outside: bool = False,
        settings: Mapping[str, str] | None = None,
        excess: Callable[[], str] | None = None,
    ) -> tuple[bytes, Outcome]:
        """Return what git writes, and how it ended. Raises SourceUnreachable where it was ended."""
        with tempfile.TemporaryFile(dir=self._top) as output:
            outcome = self._run(arguments, output, outside=outside, settings=settings, excess=excess)
            output.seek(0)
            return output.read(), outcome

    def write(self, file: IO[bytes], *arguments: str, most_bytes: int, what: str) -> None:
        """Write what git writes in the repository to a file, and go to its beginning.

        Raises SourceUnreachable, also for more than `most_bytes`, of `what`.
        """
        outcome = self._run(arguments, file, most_bytes=most_bytes, what=what)
        if outcome.exit_code != 0:
            raise self.unreachable(outcome.messages)
        file.seek(0)

    def archive(self, commit: str, file: IO[bytes], *, most_bytes: int) -> None:
        """Write the files of a commit to `file` as a tar, byte for byte as they were committed.

        Raises SourceUnreachable, also for more than `most_bytes`.
        """
        information = os.path.join(self._directory, "info")
        os.makedirs(information, exist_ok=True)
        with open(os.path.join(information, "attributes"), "w", encoding="utf-8") as attributes:
            attributes.write(_ATTRIBUTES)
        # A bare repository has no worktree, so this reads no attributes of the commit.
        self.write(
            file,
            "archive",
            "--format=tar",
            "--worktree-attributes",
            commit,
            most_bytes=most_bytes,
            what="an archive of it",
        )

    def is_ancestor(self, commit: str, of: str) -> bool:
        """Whether `commit`, which was fetched, is an ancestor of another; False if that cannot be fetched."""
        try:
            for depth in ("--depth=1", "--unshallow"):
                fetched = ("fetch", *_FETCH, depth, "--filter=tree:0", "--end-of-options", self.location, of)
                if self.try_run(*fetched, excess=self._too_much)[1].exit_code != 0:
                    return False
                # Only the dates of both are needed to rule it out for a usual update.
                dates = self.run("log", "--no-walk=unsorted", "--format=%ct", of, commit).split()
                if int(dates[0]) < int(dates[1]):
                    return False
            return self.try_run("merge-base", "--is-ancestor", commit, of)[1].exit_code == 0
        except SourceUnreachable:
            return False

    def ended(self, ended: ProgramEnded) -> SourceUnreachable:
        """Return the error for git that was ended."""
        if ended.excess:
            return SourceUnreachable(self.shown, f"was not fetched: {in_line(ended.excess)}")
        return SourceUnreachable(
            self.shown,
            f"took longer than {self._options.timeout_seconds:g} seconds",
            hint="try again later, or download an archive of it",
        )

    def unreachable(self, messages: str) -> SourceUnreachable:
        """Return the error for git that failed, with its last line."""
        said = last_line(messages)
        folded = messages.lower()
        hint = next((fix.format(location=self.location) for words, fix in _FIXES if words in folded), None)
        if self.location.startswith("file:") and _NO_REPOSITORY in folded:
            before, sign, skill = self.location.rpartition("@")
            hint = "for a directory that is no repository write its path, without file://"
            hint = f"for a skill of {before} write {before}#@{skill}; {hint}" if sign else hint
        return SourceUnreachable(self.shown, f"cannot be fetched: {said}", hint=hint)

    def close(self) -> None:
        """Remove the repository."""
        self._until_closed.close()

    def _run(
        self,
        arguments: Sequence[str],
        output: IO[bytes],
        *,
        most_bytes: int = _MAX_OUTPUT_BYTES,
        what: str = "what git wrote",
        outside: bool = False,
        settings: Mapping[str, str] | None = None,
        excess: Callable[[], str] | None = None,
    ) -> Outcome:
        chosen = {**_SETTINGS, "core.hooksPath": self._empty, **(settings or {})}
        if self.location.startswith("http:"):
            # It would be another machine, which nobody has agreed to ask without encryption.
            chosen["http.followRedirects"] = "false"
        given = [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
        place = () if outside else (f"--git-dir={self._directory}",)

        def too_much() -> str:
            if os.fstat(output.fileno()).st_size > most_bytes:
                return f"{what} has more than {in_mib(most_bytes)}"
            return excess() if excess is not None else ""

        try:
            return run_program(
                (self._git, *given, *place, *arguments),
                output,
                cwd=self._top,
                environment=self._environment,
                limit_seconds=self._options.timeout_seconds,
                excess=too_much,
            )
        except ProgramEnded as ended:
            raise self.ended(ended) from None

    def _batch_mode(self) -> Mapping[str, str]:
        """Return what keeps ssh from asking, unless the person chose how ssh is run."""
        if "GIT_SSH_COMMAND" in self._environment or "GIT_SSH" in self._environment:
            return {}
        chosen, _ = self.try_run("config", "--get", "core.sshCommand", outside=True)
        return {} if chosen.strip() else {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=30"}

    def _too_much(self) -> str:
        if _bytes_below(os.path.join(self._directory, "objects")) <= self._options.max_bytes:
            return ""
        return f"it has more than {in_mib(self._options.max_bytes)}"


def find_git(environment: Mapping[str, str]) -> str:
    """Return the path of git. Raises CommandUnavailable, which says how to get it and what works without."""
    found = shutil.which("git", path=absolute_path_entries(environment.get("PATH", "")))
    if found is None:
        raise CommandUnavailable("git", reason="is needed for a repository and is not installed", hint=_INSTALL)
    return found


def git_environment(source: Mapping[str, str], location: str) -> dict[str, str]:
    """Return the environment of git for a repository: the person's, but for what names another repository. Pure."""
    scheme = location.partition("://")[0] if "://" in location else ""
    protocols = (*_PROTOCOLS, scheme) if scheme in ("http", "git") else _PROTOCOLS
    kept = {
        name: value
        for name, value in source.items()
        if name not in _REPOSITORY_VARIABLES and not _OWN_VARIABLE.match(name)
    }
    # An object that says it has gigabytes is not believed; what serves a repository of this machine has no such bound.
    bound = {} if scheme == "file" else {"GIT_ALLOC_LIMIT": _LARGEST_PIECE}
    return {
        **kept,
        **bound,
        "GIT_TERMINAL_PROMPT": "0",
        "GCM_INTERACTIVE": "never",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_ALLOW_PROTOCOL": ":".join(protocols),
        "GIT_LFS_SKIP_SMUDGE": "1",
        # Its messages are read, and told as they are.
        "LC_ALL": "C.UTF-8" if os.name == "posix" else "C",
        "LANGUAGE": "en",
    }


def last_line(messages: str) -> str:
    """Return the line of git's messages that says why it failed, without secrets in URLs."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("fatal: ")][:1] or lines[-1:] or ["git gave no reason"]
    if "could not read from remote" in said[0].lower() and not lines[0].startswith("fatal: "):
        # So git says what ssh or the server has just said better.
        said = lines[:1]
    return in_line(redacted(_PREFIX.sub("", said[0])))[:_SHOWN_CHARACTERS]


def _bytes_below(directory: str) -> int:
    total = 0
    for top, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(top, name)).st_size
            except FileNotFoundError:  # git has renamed it since it was listed
                continue
    return total
