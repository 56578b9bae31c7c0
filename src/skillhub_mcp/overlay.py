"""A large mapping with a few changes over it: a changed copy costs what the change does, not what the copy would.

Who has such a copy has what it was for as long as they have it: nobody changes it, nor what is below it.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from itertools import chain
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# A smaller mapping is copied as fast.
LARGE = 4_096
# When one of so many keys has changed, everything is copied once: looking for what changed shall stay cheap.
_SHARE = 64


def changed_copy(mapping: Mapping[K, V], changes: Mapping[K, V | None]) -> Mapping[K, V]:
    """Return the mapping with other or new values, and without the keys whose change is None; no value is None.

    Keys stay in their order, and new ones come at the end.
    """
    below, over = (mapping.below, {**mapping.over, **changes}) if isinstance(mapping, Overlay) else (mapping, changes)
    found = Overlay(below, over)
    return found if len(below) >= LARGE and len(below) > len(over) * _SHARE else found.copy()


def changes_between(before: Mapping[K, V], after: Mapping[K, V]) -> dict[K, V | None] | None:
    """Return the values that are other objects in `after`, by key, and None for those that are gone.

    Returns None where the two are no changed copies of one mapping, so that only looking at every key would tell.
    """
    (below, old), (other, new) = map(_layers, (before, after))
    if below is not other:
        return None
    return {key: value for key in {**old, **new} if (value := after.get(key)) is not before.get(key)}


def values_at_least(mapping: Mapping[K, V]) -> Iterable[V]:
    """Return the values, and perhaps some that were there before: faster where that makes no difference."""
    below, over = _layers(mapping)
    return chain(below.values(), (value for value in over.values() if value is not None))


def as_dict(mapping: Mapping[K, V]) -> Mapping[K, V]:
    """Return the mapping, or a dict in the place of an overlay: to copy that takes a part of the time."""
    return mapping.copy() if isinstance(mapping, Overlay) else mapping


def _layers(mapping: Mapping[K, V]) -> tuple[Mapping[K, V], Mapping[K, V | None]]:
    return (mapping.below, mapping.over) if isinstance(mapping, Overlay) else (mapping, {})


class Overlay(Mapping[K, V], Generic[K, V]):
    """What is `below`, but for the keys that `over` has; None there is for a key that is gone."""

    __slots__ = ("_length", "below", "over")

    def __init__(self, below: Mapping[K, V], over: Mapping[K, V | None]) -> None:
        self.below, self.over = below, over
        self._length = len(below) + sum((value is not None) - (key in below) for key, value in over.items())

    def __getitem__(self, key: K) -> V:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        found: V = value
        return found

    def get(self, key: K, default: Any = None) -> Any:
        """Return the value of a key, or `default`."""
        value = self.over[key] if key in self.over else self.below.get(key)
        return default if value is None else value

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[K]:
        return iter(self.copy())

    def values(self) -> ValuesView[V]:
        """Return the values, in the order of their keys; copies all of them."""
        return self.copy().values()

    def items(self) -> ItemsView[K, V]:
        """Return the keys with their values, in their order; copies all of them."""
        return self.copy().items()

    def copy(self) -> dict[K, V]:
        """Return a dict of the same keys and values: to go through that is many times as fast as through two."""
        found: dict[K, V] = dict(self.below)
        for key, value in self.over.items():
            if value is not None:
                found[key] = value
            else:
                found.pop(key, None)
        return found
