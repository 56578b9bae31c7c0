"""What observers receive. Events carry no content, and an observer never fails the observed operation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

from skillhub_mcp.errors import SkillHubError

OK = "ok"
CANCELLED = "cancelled"
# The outcome of an error without a code of ours, which is a bug in the hub.
UNEXPECTED = "UNEXPECTED"


@dataclass(slots=True, kw_only=True)
class Event:
    """Something that takes time. `outcome` is `ok`, `cancelled` or an error code, and final at its end."""

    outcome: str = OK
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class RequestEvent(Event):
    """One request of a client. `tool` is empty for a request that calls no tool."""

    method: str
    tool: str = ""


@dataclass(slots=True, kw_only=True)
class SearchEvent(Event):
    """One search: the numbers of skills searched, of candidates among them, and of hits."""

    mode: Literal["list", "fts", "vector", "hybrid"] = "list"
    searched: int = 0
    candidates: int = 0
    hits: int = 0
    confident: bool = True


@dataclass(slots=True, kw_only=True)
class SearchStepEvent(Event):
    """One step of a search."""

    name: Literal["embed", "candidates", "score"]


@dataclass(slots=True, kw_only=True)
class UseEvent(Event):
    """A skill is loaded, read or run. `size` is in characters of instructions or bytes of a file."""

    action: Literal["load", "read", "run"]
    skill: str
    source: str | None = None
    part: int | None = None
    file_path: str | None = None
    command: str | None = None
    exit_code: int | None = None
    sandbox: str | None = None
    network: bool | None = None
    digest: str | None = None
    size: int | None = None


@dataclass(slots=True, kw_only=True)
class SyncEvent(Event):
    """The index is synchronised with the files: the numbers of rows written and removed."""

    written: int = 0
    removed: int = 0
    rebuilt: bool = False
    embedding_failed: bool = False


@dataclass(slots=True, kw_only=True)
class EmbeddingEvent(Event):
    """Skills that lacked a vector are embedded: how many vectors were `written`, and whether the embedder failed."""

    written: int = 0
    failed: bool = False


@dataclass(slots=True, kw_only=True)
class LibraryEvent(Event):
    """The set of skills has changed; `skills` is their number now."""

    skills: int


@dataclass(slots=True, kw_only=True)
class PublicationEvent(Event):
    """A replica asked the storage for its snapshot: the number of the one that it serves, and whether it is another."""

    snapshot: int = 0
    changed: bool = False


class Observer:
    """Logs, audits, traces or counts events. Called from any thread."""

    def start(self, event: Event) -> Callable[[], None]:
        """Observe the start of `event`; return the callback for its end, called in the same thread or task."""
        return partial(self.record, event)

    def record(self, event: Event) -> None:
        """Observe the end of `event`."""


class CompositeObserver(Observer):
    """Passes events to several observers; the first is called first at a start, and last at an end."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = tuple(observers)

    def start(self, event: Event) -> Callable[[], None]:
        """Pass the start to each observer, and the end to each in reverse order."""
        finishers = [observer.start(event) for observer in self.observers]

        def finish() -> None:
            for finisher in reversed(finishers):
                finisher()

        return finish


NULL_OBSERVER = CompositeObserver(())


@dataclass(slots=True)
class RequestContext:
    """The request that causes an event: its caller, transport, session and trace, if any, and its last `UseEvent`."""

    caller: str
    transport: Literal["stdio", "http"]
    session: str = ""
    trace_id: str = ""
    last_use: UseEvent | None = None


# The request that this thread or task answers; None outside a request, as in the command line.
REQUEST_CONTEXT: ContextVar[RequestContext | None] = ContextVar("skillhub_request", default=None)

EventT = TypeVar("EventT", bound=Event)


@contextmanager
def observe(observer: Observer, event: EventT) -> Iterator[EventT]:
    """Report `event` to `observer` for the length of the block; the code of an error that leaves it is its outcome."""
    started = time.perf_counter()
    finish = observer.start(event)
    try:
        yield event
    except SkillHubError as error:
        event.outcome = error.code
        raise
    except BaseException:
        if event.outcome == OK:
            event.outcome = UNEXPECTED
        raise
    finally:
        event.seconds = time.perf_counter() - started
        request = REQUEST_CONTEXT.get()
        if request is not None and isinstance(event, UseEvent):
            request.last_use = event
        finish()
