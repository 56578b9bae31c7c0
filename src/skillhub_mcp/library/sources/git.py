"""Running git for one source, with the person's own credentials and settings.

A repository is fetched into a bare one below a temporary directory and never checked out, so no hook or filter of it
runs. `git archive` with attributes off gives the bytes of the commit. Every run is bounded in time and bytes.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp.errors import CommandUnavailable, SourceUnreachable
from skillhub_mcp.execution.command_policy import absolute_path_entries
from skillhub_mcp.execution.program import Outcome, ProgramEnded, run_program
from skillhub_mcp.library.tree import BOUNDS, in_mib
from skillhub_mcp.redaction import redacted
from skillhub_mcp.sanitize import in_line

_MAX_OUTPUT_BYTES = 64 * 1024 * 1024
_SHOWN_CHARACTERS = 300
_INSTALL = (
    "install git (Debian: apt install git; macOS: xcode-select --install; Windows: winget install Git.Git); "
    "archives and directories work without it"
)
# The person's ssh, credentials, proxy and settings. Any other variable of git may name another repository or program.
_GIT_VARIABLE = re.compile(r"GIT_(SSH|SSL|PROXY|HTTP|ASKPASS|CONFIG_(COUNT|KEY_|VALUE_|GLOBAL|SYSTEM|NOSYSTEM))")
_NOT_FOR_GIT = re.compile(r"SKILLHUB_|.*_API_KEY\Z")
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.bigFileThreshold": "8m",
    "fetch.recurseSubmodules": "no",
    "fetch.unpackLimit": "1",
    "fetch.fsckObjects": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "transfer.bundleURI": "false",
    "credential.interactive": "false",
    # A server that sends next to nothing is given up early.
    "http.lowSpeedLimit": "100",
    "http.lowSpeedTime": "30",
}
# `.gitattributes` could leave files out of an archive, or change them.
_ATTRIBUTES = "* -export-ignore -export-subst -text -eol -filter -ident -working-tree-encoding\n"
_FETCH = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-gc")
_PREFIX = re.compile(r"\A(?:fatal|error|remote|warning): (?:(?:fatal|error): )?", re.IGNORECASE)
_LOG_IN = "is the name right? For a private one `git ls-remote {location}` must work in your terminal first"
_NETWORK = "check the network and the host's name, and try again"
# Words of git and of servers, and the hint for them. The first that matches is shown.
_FIXES = (
    ("dubious ownership", "another user owns it: git config --global --add safe.directory PATH"),
    ("host key verification failed", "connect to the host once with ssh, and look at its key"),
    (
        "not allowed|libcurl|redirect|error: 30",
        "it leads to an address that is not fetched: write that URL if it is right",
    ),
    ("certificate", "this machine does not trust the host's certificate: see http.sslCAInfo in git-config(1)"),
    ("resolve host|failed to connect|connection|unreachable|timed out", _NETWORK),
    ("no space left", "free space in the directory for temporary files, or name another in TMPDIR"),
    ("could not read|authentication failed|permission denied|not found|a git repository|error: 40[13]", _LOG_IN),
    ("not our ref", "no branch or tag of it has that commit: name a branch or a tag"),
)


@dataclass(frozen=True, slots=True)
class GitOptions:
    """How git is run: the environment, and the most seconds and bytes of one source."""

    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    timeout_seconds: float = 300.0
    max_bytes: int = BOUNDS.fetched_bytes


class GitRepository:
    """An empty bare repository in a temporary directory, for a source. Raises CommandUnavailable without git."""

    def __init__(self, location: str, shown: str, options: GitOptions) -> None:
        self.location = location
        self.shown = shown
        self._options = options
        self._git = find_git(options.environment)
        with ExitStack() as opened:
            # Also for what git reads beside the repository; removed with it.
            self.directory = opened.enter_context(scratch_directory("git"))
            self._repository = os.path.join(self.directory, "repository")
            # Where git looks for hooks and templates.
            self._empty = os.path.join(self.directory, "none")
            os.mkdir(self._empty)
            self._environment = git_environment(options.environment, location)
            self._until_closed = opened.pop_all()

    def initialise(self, object_format: str = "sha1") -> None:
        """Create the repository."""
        options = () if object_format == "sha1" else (f"--object-format={object_format}",)
        self.run("init", "--quiet", "--bare", f"--template={self._empty}", *options, self._repository, outside=True)

    def fetch(self, ref: str, *options: str) -> None:
        """Fetch a ref, or a commit. Raises SourceUnreachable."""
        self.run("fetch", *_FETCH, *options, "--end-of-options", self.location, ref)

    def list_refs(self, patterns: Sequence[str]) -> bytes:
        """Return the output of `git ls-remote --symref`. Raises SourceUnreachable."""
        command = ("ls-remote", "--symref", "--quiet", "--end-of-options", self.location, *patterns)
        return self.run(*command, outside=True)

    def run(self, *arguments: str, outside: bool = False) -> bytes:
        """Return the output of git, in the repository unless `outside`. Raises SourceUnreachable if it fails."""
        output, outcome = self.try_run(*arguments, outside=outside)
        if outcome.exit_code != 0:
            raise self._unreachable(outcome.messages)
        return output

    def try_run(
        self, *arguments: str, outside: bool = False, settings: Mapping[str, str] | None = None
    ) -> tuple[bytes, Outcome]:
        """Return the output of git, and how it ended. Raises SourceUnreachable beyond a bound."""
        with tempfile.TemporaryFile(dir=self.directory) as output:
            outcome = self._run(arguments, output, outside=outside, settings=settings)
            output.seek(0)
            return output.read(), outcome

    def archive(self, commit: str, file: IO[bytes], *, most_bytes: int) -> None:
        """Write a commit to `file` as a tar, byte for byte. Raises SourceUnreachable, also for too many bytes."""
        information = os.path.join(self._repository, "info")
        os.makedirs(information, exist_ok=True)
        with open(os.path.join(information, "attributes"), "w", encoding="utf-8") as attributes:
            attributes.write(_ATTRIBUTES)
        # A few objects could name each other for ever.
        with tempfile.TemporaryFile(dir=self.directory) as listed:
            names = ("ls-tree", "-r", "-t", "-z", "--name-only", "--full-tree", commit)
            self._run(names, listed, most_bytes=BOUNDS.listed_bytes, what="the list of its files")
        # A bare repository has no worktree, so this reads no attributes of the commit.
        command = ("archive", "--format=tar", "--worktree-attributes", commit)
        outcome = self._run(command, file, most_bytes=most_bytes, what="an archive of it")
        if outcome.exit_code != 0:
            raise self._unreachable(outcome.messages)
        file.seek(0)

    def is_ancestor(self, commit: str, of: str) -> bool:
        """Whether `commit`, which was fetched, is an ancestor of another; False if that cannot be fetched."""
        try:
            self.fetch(of, "--depth=1", "--filter=tree:0")
            # The dates rule it out for a usual update.
            dates = self.run("log", "--no-walk=unsorted", "--format=%ct", of, commit).split()
            if int(dates[0]) < int(dates[1]):
                return False
            self.fetch(of, "--unshallow", "--filter=tree:0")
            return self.try_run("merge-base", "--is-ancestor", commit, of)[1].exit_code == 0
        except SourceUnreachable:
            return False

    def close(self) -> None:
        """Remove the repository."""
        self._until_closed.close()

    def _unreachable(self, messages: str) -> SourceUnreachable:
        fixes = (fix.format(location=self.location) for words, fix in _FIXES if re.search(words, messages.lower()))
        hint = next(fixes, None)
        if self.location.startswith("file:") and "git repository" in messages:
            hint = "for a directory or an archive write its path, without file://"
        return SourceUnreachable(self.shown, f"cannot be fetched: {last_line(messages)}", hint=hint)

    def _run(
        self,
        arguments: Sequence[str],
        output: IO[bytes],
        *,
        most_bytes: int = _MAX_OUTPUT_BYTES,
        what: str = "the output of git",
        outside: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> Outcome:
        chosen = {**_SETTINGS, "core.hooksPath": self._empty, **(settings or {})}
        if self.location.startswith("http:"):
            # The person agreed to no encryption for this machine only.
            chosen["http.followRedirects"] = "false"
        given = [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
        place = () if outside else (f"--git-dir={self._repository}",)

        def too_much() -> str:
            if os.fstat(output.fileno()).st_size > most_bytes:
                return f"{what} has more than {in_mib(most_bytes)}"
            if _bytes_below(os.path.join(self._repository, "objects")) > self._options.max_bytes:
                return f"it has more than {in_mib(self._options.max_bytes)}"
            return ""

        try:
            return run_program(
                (self._git, *given, *place, *arguments),
                output,
                cwd=self.directory,
                environment=self._environment,
                limit_seconds=self._options.timeout_seconds,
                excess=too_much,
            )
        except ProgramEnded as ended:
            if ended.excess:
                raise SourceUnreachable(self.shown, f"was not fetched: {in_line(ended.excess)}") from None
            reason = f"took longer than {self._options.timeout_seconds:g} seconds"
            hint = "try again later, or download an archive of it"
            raise SourceUnreachable(self.shown, reason, hint=hint) from None


def find_git(environment: Mapping[str, str]) -> str:
    """Return the path of git. Raises CommandUnavailable."""
    found = shutil.which("git", path=absolute_path_entries(environment.get("PATH", "")))
    if found is None:
        raise CommandUnavailable("git", reason="is needed for a repository and is not installed", hint=_INSTALL)
    return found


def git_environment(source: Mapping[str, str], location: str) -> dict[str, str]:
    """Return the environment of git for a repository: the person's, without what names another repository. Pure."""
    scheme = location.partition("://")[0] if "://" in location else ""
    protocols = ("https", "ssh", "file", *([scheme] if scheme in ("http", "git") else []))
    kept = {
        name: value
        for name, value in source.items()
        if not _NOT_FOR_GIT.match(name) and (not name.startswith("GIT_") or _GIT_VARIABLE.match(name))
    }
    # The largest object; a server on this machine needs more.
    bound = {} if scheme == "file" else {"GIT_ALLOC_LIMIT": "256m"}
    return {
        **kept,
        **bound,
        "GIT_TERMINAL_PROMPT": "0",
        "GCM_INTERACTIVE": "never",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_ALLOW_PROTOCOL": ":".join(protocols),
        "GIT_LFS_SKIP_SMUDGE": "1",
        # The messages are matched.
        "LC_ALL": "C.UTF-8" if os.name == "posix" else "C",
        "LANGUAGE": "en",
    }


def last_line(messages: str) -> str:
    """Return the line of git's messages that says why it failed, without secrets in URLs."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("fatal: ")][:1] or lines[-1:] or ["git gave no reason"]
    if "could not read from remote" in said[0].lower() and not lines[0].startswith("fatal: "):
        # The line of ssh or the server before it says more.
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
