"""The files of rules, choices, tokens, roots, trust and reviews, read again when they change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp._util.file_modes import changeable_by_others, make_private_directory, replaceable_by_others
from skillhub_mcp._util.safe_json import JsonFormat
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import CLOSE_TO_OTHERS, PolicyUnreadable, PolicyUnwritable
from skillhub_mcp.policy.access_tokens import Tokens, parse_tokens, tokens_text
from skillhub_mcp.policy.choices import CHOICES_FORMAT, NO_CHOICES
from skillhub_mcp.policy.recorded_roots import NO_RECORD, ROOTS_FORMAT
from skillhub_mcp.policy.reviews import NO_REVIEWS, REVIEWS_FORMAT
from skillhub_mcp.policy.rules import NO_RULES, Decision, ListedRule, PermissionRule, Rules, parse_rules, rules_text
from skillhub_mcp.policy.trust import NO_AGREEMENT, TRUST_FORMAT
from skillhub_mcp.skills.roots import is_at_or_below

T = TypeVar("T")

_MAX_BYTES = 4 * 1024 * 1024
_LOCK_SECONDS = 10

_Stamp = tuple[int, ...]


@dataclass(frozen=True)
class Record(Generic[T]):
    """A kind of file: its name in errors, how its values are read and written, and `own`, the user's file below `~`.

    A file that cannot be used is an error with `fix` and the consequence `until_then`.
    """

    what: str
    own: str
    empty: T
    parse: Callable[[str], T]
    text: Callable[[T], str]
    until_then: str
    fix: str = "fix or remove it"

    @property
    def path(self) -> str:
        """The path of the user's own file."""
        return expand_home(self.own)

    def file(self, path: str = "", *, required: bool = False, within: str = "") -> PolicyFile[T]:
        """Return the file at `path`, by default the user's own. See `PolicyFile`."""
        return PolicyFile(path or self.path, self, required=required, within=within)

    def change(self, path: str, change: Callable[[T], T]) -> T:
        """Change the value under a lock and return it.

        Raises PolicyUnreadable, PolicyUnwritable and what `change` raises.
        """
        with _locked(path, self.what):
            before = self.file(path).read()
            changed = change(self.empty if before is None else before)
            if changed != before:
                atomic_write(path, self.text(changed).encode(), mode=0o600)
        return changed


class PolicyFile(Generic[T]):
    """One file, parsed again when it has changed. A `required` one must exist.

    It must not be a link out of the directory `within`; without `within`, others must not be able to write it.
    """

    def __init__(self, path: str, record: Record[T], *, required: bool, within: str) -> None:
        self.path = path
        self._record = record
        self._required = required
        self._within = within
        self._stamp: _Stamp | None = None
        self._value: T | None = None

    def read(self) -> T | None:
        """Return the file's value, None if it is missing. Raises PolicyUnreadable if it cannot be used."""
        stamp = self._stat()
        if stamp is None:
            self._stamp = self._value = None
        elif stamp != self._stamp:
            self._stamp = None
            self._value = self._read()
            # The stamp was taken before the read, so that a change during it is seen next time.
            self._stamp = stamp
        return self._value

    def _stat(self) -> _Stamp | None:
        try:
            status = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError) as error:
            if self._required or os.path.islink(self.path):
                # A dangling link may have led to denials: their loss must not permit everything.
                raise self._unreadable("it does not exist") from error
            return None
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from error
        if self._within and not is_at_or_below(os.path.realpath(self.path), self._within):
            raise self._unreadable("it is a link out of the project")
        # Mode and owner too: they say whether the file may be used.
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode, status.st_uid

    def _read(self) -> T:
        try:
            exposure = changeable_by_others(self.path) if not self._within else None
            if exposure is not None:
                what, fix = self._record.what, CLOSE_TO_OTHERS
                raise PolicyUnreadable(what, path=exposure.path, reason=exposure.reason, fix=fix)
            with open(os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                content = file.read(_MAX_BYTES + 1)
            if len(content) <= _MAX_BYTES:
                return self._record.parse(content.decode("utf-8-sig"))
            reason = f"it is over {_MAX_BYTES:,} bytes"
        except OSError as error:
            reason = error.strerror or str(error)
        except UnicodeDecodeError:
            reason = "it is not UTF-8"
        except ValueError as error:
            reason = str(error)
        raise self._unreadable(reason)

    def _unreadable(self, reason: str) -> PolicyUnreadable:
        record = self._record
        fix = f"{record.fix}; {record.until_then} until then"
        return PolicyUnreadable(record.what, path=self.path, reason=reason, fix=fix)


def _own(name: str, empty: T, shape: JsonFormat[T], until_then: str) -> Record[T]:
    return Record(f"Your {name}", f"~/.skillhub/{name}", empty, shape.parse, shape.text, until_then)


CHOICES = _own("choices.json", NO_CHOICES, CHOICES_FORMAT, "nothing is loaded")
REVIEWS = _own("reviews.json", NO_REVIEWS, REVIEWS_FORMAT, "no finding of the audit is accepted")
ROOTS = _own("roots.json", NO_RECORD, ROOTS_FORMAT, "only the default roots are searched")
TRUST = _own("trust.json", NO_AGREEMENT, TRUST_FORMAT, "no project is trusted")
RULES = Record(
    "Your permissions.json", "~/.skillhub/permissions.json", NO_RULES, parse_rules, rules_text, "nothing is loaded"
)
PROJECT_RULES = replace(RULES, what="The project's .skillhub/permissions.json")
TOKENS = Record(
    "The file of tokens",
    "",  # a setting names it
    Tokens(),
    parse_tokens,
    tokens_text,
    "every request is refused",
    "fix it; where it is missing, or you removed it, `skillhub token new NAME` makes a new one",
)


def change_rules(
    path: str,
    *,
    put: Sequence[ListedRule] = (),
    forget: Sequence[PermissionRule] = (),
    others: Decision | None = None,
) -> tuple[ListedRule, ...]:
    """Put rules in place of those about the same, and remove those about the same as `forget`; return what is gone.

    Raises PolicyUnreadable and PolicyUnwritable.
    """
    before: list[ListedRule] = []

    def change(rules: Rules) -> Rules:
        before[:] = rules.listed()
        for rule in forget:
            rules = rules.without(rule)
        for one in put:
            rules = rules.with_rule(one.verdict, one.rule)
        return rules if others is None else replace(rules, others=others)

    after = RULES.change(path, change).listed()
    return tuple(one for one in before if one not in after)


@contextmanager
def _locked(path: str, what: str) -> Iterator[None]:
    from filelock import FileLock, Timeout

    _check_writable(path, what)
    try:
        with FileLock(f"{path}.lock", timeout=_LOCK_SECONDS, mode=0o600):
            yield
    except Timeout as error:
        raise PolicyUnwritable(what, path=path, reason="another process has locked it") from error
    except OSError as error:
        raise _unwritable(error, what, path) from error


def _check_writable(path: str, what: str) -> None:
    """Make the file's directory. Raises PolicyUnwritable, also if the lock's file could not be created."""
    directory = os.path.dirname(path)
    try:
        exposure = replaceable_by_others(path)
        if exposure is not None:
            # The file would be rejected when it is read, and no skill served.
            fix = f"nothing was changed; {exposure.fix}"
            raise PolicyUnwritable(what, path=exposure.path, reason=exposure.reason, fix=fix)
        make_private_directory(directory)
        # FileLock would wait for a file that it may not create.
        os.close(os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except OSError as error:
        raise _unwritable(error, what, directory) from error


def _unwritable(error: OSError, what: str, path: str) -> PolicyUnwritable:
    return PolicyUnwritable(what, path=path, reason=error.strerror or str(error), number=error.errno)
