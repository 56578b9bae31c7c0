"""Where are rules, choices and tokens kept? Small files, read again when they changed, and replaced in one step."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from skillhub_mcp.errors import PolicyUnreadable, TokensUnreadable
from skillhub_mcp.policy.access_tokens import BadTokens, Tokens, parse_tokens, tokens_text
from skillhub_mcp.policy.choices import BadChoices, Choices, choices_text, parse_choices
from skillhub_mcp.policy.rules import BadRules, PermissionRule, Rules, parse_rules

T = TypeVar("T")

_MAX_BYTES = 4 * 1024 * 1024
_LOCK_SECONDS = 10
_TOKENS = "The file of tokens"

_Stamp = tuple[int, int, int]


class PolicyFile(Generic[T]):
    """One file, read by `parse` when it has changed since it was last read. `what` names it without its place.

    One that is `needed` may not be missing. `failure` is what is raised for one that cannot be used.
    """

    def __init__(
        self,
        path: str,
        *,
        what: str,
        parse: Callable[[str], T],
        needed: bool = False,
        failure: type[PolicyUnreadable] = PolicyUnreadable,
    ) -> None:
        self.path = path
        self.what = what
        self._parse = parse
        self._needed = needed
        self._failure = failure
        self._stamp: _Stamp | None = None
        self._value: T | None = None

    def read(self) -> T | None:
        """Return what the file holds, or None where there is none; the same value while it stays the same.

        Raises PolicyUnreadable for a file that is there and cannot be used.
        """
        stamp = self._stat()
        if stamp is None:
            self._stamp = self._value = None
        elif stamp != self._stamp:
            self._value = self._read()
            # Taken before the file was read: a change in between is seen next time.
            self._stamp = stamp
        return self._value

    def _stat(self) -> _Stamp | None:
        try:
            status = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError) as error:
            if self._needed or os.path.islink(self.path):
                # A link to nothing had rules behind it once: that they are gone is no reason to do without them.
                raise self._failure(self.what, path=self.path, reason="it does not exist") from error
            return None
        except OSError as error:
            raise self._failure(self.what, path=self.path, reason=error.strerror or str(error)) from error
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> T:
        self._stamp = None
        try:
            with open(os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                content = file.read(_MAX_BYTES + 1)
            if len(content) <= _MAX_BYTES:
                return self._parse(content.decode("utf-8-sig"))
            reason = f"it is over {_MAX_BYTES:,} bytes"
        except OSError as error:
            reason = error.strerror or str(error)
        except UnicodeDecodeError:
            reason = "it is not UTF-8"
        except (BadRules, BadChoices, BadTokens) as error:
            reason = str(error)
        raise self._failure(self.what, path=self.path, reason=reason)


def rules_file(path: str, *, what: str, needed: bool = False) -> PolicyFile[Rules]:
    """Return a file of rules."""
    return PolicyFile(path, what=what, parse=parse_rules, needed=needed)


def choices_file(path: str) -> PolicyFile[Choices]:
    """Return the person's file of choices."""
    return PolicyFile(path, what="Your choices.json", parse=parse_choices)


def tokens_file(path: str, *, needed: bool = True) -> PolicyFile[Tokens]:
    """Return a file of tokens, which raises TokensUnreadable where it cannot be used."""
    return PolicyFile(path, what=_TOKENS, parse=parse_tokens, needed=needed, failure=TokensUnreadable)


def change_tokens(path: str, change: Callable[[Tokens], Tokens]) -> Tokens:
    """Change the tokens in one step that no other process comes between, and return them.

    Only its owner can read the file. Raises PolicyUnreadable, and BadTokens if `change` does.
    """
    with _locked(path, _TOKENS):
        changed = change(tokens_file(path, needed=False).read() or Tokens())
        _replace(path, tokens_text(changed), _TOKENS)
    return changed


def change_choices(path: str, change: Callable[[Choices], Choices]) -> Choices:
    """Change the choices in one step that no other process comes between, and return them. Raises PolicyUnreadable."""
    with _locked(path, "Your choices.json"):
        changed = change(choices_file(path).read() or Choices())
        _replace(path, choices_text(changed), "Your choices.json")
    return changed


def add_rule(path: str, verdict: str, rule: PermissionRule, *, what: str) -> None:
    """Add a rule to the file's list `verdict`, leaving all else in it as it is. Raises PolicyUnreadable."""

    def add(rules: list[object]) -> list[object]:
        return rules if rule.as_json() in rules else [*rules, rule.as_json()]

    _change_rules(path, verdict, add, what=what)


def remove_rule(path: str, verdict: str, rule: PermissionRule, *, what: str) -> None:
    """Take a rule out of the file's list `verdict`, leaving all else in it as it is. Raises PolicyUnreadable."""
    _change_rules(path, verdict, lambda rules: [one for one in rules if one != rule.as_json()], what=what)


def _change_rules(path: str, verdict: str, change: Callable[[list[object]], list[object]], *, what: str) -> None:
    with _locked(path, what):
        # Read as rules first: what cannot be understood is not written over either.
        rules_file(path, what=what).read()
        written: dict[str, Any] = {"permissions": {}}
        with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8-sig") as file:
            written = json.load(file)
        lists = written["permissions"]
        lists[verdict] = change(lists.get(verdict, []))
        _replace(path, json.dumps(written, ensure_ascii=False, indent=2) + "\n", what)


@contextmanager
def _locked(path: str, what: str) -> Iterator[None]:
    from filelock import FileLock, Timeout

    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=_LOCK_SECONDS):
            yield
    except Timeout as error:
        raise PolicyUnreadable(what, path=path, reason="another process holds it") from error
    except OSError as error:
        raise PolicyUnreadable(what, path=path, reason=error.strerror or str(error)) from error


def _replace(path: str, text: str, what: str) -> None:
    """Write the file beside itself and put it in place: a reader, and a full disk, find it whole."""
    # A link stays one: people keep such files in a repository of their own.
    place = os.path.realpath(path)
    number, new = tempfile.mkstemp(prefix=".skillhub-", dir=os.path.dirname(place))
    try:
        with open(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, place)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise PolicyUnreadable(what, path=path, reason=error.strerror or str(error)) from error
