"""What is going on, for whoever keeps account of it? The one seam between what the hub does and what is told of it.

1. No content passes it: no query, no instructions, no text of a file, no argument of a command. Whatever observers
   write or send, they cannot tell what they never hear. What a use is of has a name, and only the audit writes it down.
2. A happening is told of twice, when it begins and when it has ended; in between its facts are filled in.
3. An observer fails nobody: what it cannot do it leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from skillhub_mcp.errors import SkillHubError

OK = "ok"
# What ended in an error that has no code of ours, and so by a mistake of ours.
UNEXPECTED = "UNEXPECTED"


@dataclass(slots=True, kw_only=True)
class Event:
    """Something that takes time. `outcome` is `ok` or an error's code; both are known when it has ended."""

    outcome: str = OK
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class RequestEvent(Event):
    """One request of a client. `tool` is empty where it calls none."""

    method: str
    tool: str = ""


@dataclass(slots=True, kw_only=True)
class SearchEvent(Event):
    """One search: how many skills were searched, how many of them were candidates, and how many were found."""

    mode: Literal["list", "fts", "vector", "hybrid"] = "list"
    searched: int = 0
    candidates: int = 0
    hits: int = 0
    confident: bool = True


@dataclass(slots=True, kw_only=True)
class SearchStepEvent(Event):
    """A part of a search."""

    name: Literal["embed", "candidates", "score"]


@dataclass(slots=True, kw_only=True)
class UseEvent(Event):
    """A skill's instructions are given, a file of it is, or a command is run in it.

    `skill` is what was asked for, and the skill's handle once it is known which that is; `size` counts what was
    given, in characters of instructions or bytes of a file.
    """

    act: Literal["load", "read", "run"]
    skill: str
    source: str | None = None
    part: int | None = None
    file_path: str | None = None
    command: str | None = None
    exit_code: int | None = None
    size: int | None = None


@dataclass(slots=True, kw_only=True)
class SyncEvent(Event):
    """The index is brought in step with the files: how many rows were written and removed."""

    written: int = 0
    removed: int = 0
    rebuilt: bool = False
    embedding_failed: bool = False


@dataclass(slots=True, kw_only=True)
class LibraryEvent(Event):
    """The skills have become others, and are so many now."""

    skills: int


class Observer(Protocol):
    """Keeps account of what happens. Called from any thread."""

    def begins(self, happening: Event) -> Callable[[], None]:
        """Hear that something begins, and return what is called, in the same thread or task, when it has ended."""


class NullObserver:
    """Keeps no account."""

    def begins(self, happening: Event) -> Callable[[], None]:
        """Do nothing."""
        del happening
        return _nothing


class CompositeObserver:
    """Tells each of several observers; the first hears of a beginning first, and of an end last."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    def begins(self, happening: Event) -> Callable[[], None]:
        """Tell them all."""
        ends = [observer.begins(happening) for observer in self._observers]

        def ended() -> None:
            for end in reversed(ends):
                end()

        return ended


NULL_OBSERVER = NullObserver()


def _nothing() -> None: ...


@dataclass(slots=True)
class RequestContext:
    """On whose behalf something happens: who, over what, in which session and trace, where there is one.

    `last_use` is what was last used for it.
    """

    who: str
    transport: Literal["stdio", "http"]
    session: str = ""
    trace_id: str = ""
    last_use: UseEvent | None = None


# The request that is being answered in this thread or task; there is none in a shell.
REQUEST_CONTEXT: ContextVar[RequestContext | None] = ContextVar("skillhub_asking", default=None)

EventT = TypeVar("EventT", bound=Event)


@contextmanager
def observed(observer: Observer, happening: EventT) -> Iterator[EventT]:
    """Tell `observer` of what happens inside; an error that leaves it is its outcome, by code."""
    started = time.perf_counter()
    ended = observer.begins(happening)
    try:
        yield happening
    except SkillHubError as error:
        happening.outcome = error.code
        raise
    except BaseException:
        if happening.outcome == OK:
            happening.outcome = UNEXPECTED
        raise
    finally:
        happening.seconds = time.perf_counter() - started
        asking = REQUEST_CONTEXT.get()
        if asking is not None and isinstance(happening, UseEvent):
            asking.last_use = happening
        ended()
