"""What was worked out is given again while nothing changes."""

from __future__ import annotations

import gc
import weakref

from skillhub_mcp.search.recent import Recent


class Thing:
    """Equal to every other of its kind, and the same as none."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing)

    def __hash__(self) -> int:
        return 0


def test_the_same_question_in_the_same_world_has_the_same_answer() -> None:
    recent, world, asker = Recent[str](2), (Thing(), Thing()), Thing()
    assert recent.get(world, asker, "q") is None
    recent.put(world, asker, "q", "a")
    assert recent.get(world, asker, "q") == "a"
    assert recent.get(world, asker, "other") is None


def test_another_world_forgets_every_answer_even_where_it_is_equal() -> None:
    recent, first, asker = Recent[str](2), (Thing(),), Thing()
    recent.put(first, asker, "q", "a")
    second = (Thing(),)
    assert recent.get(second, asker, "q") is None
    recent.put(second, asker, "r", "b")
    assert recent.get(second, asker, "r") == "b"
    assert recent.get(second, asker, "q") is None
    assert recent.get(first, asker, "q") is None


def test_one_asker_never_hears_what_another_was_answered() -> None:
    recent, world, one, other = Recent[str](2), (Thing(),), Thing(), Thing()
    recent.put(world, one, "q", "for one")
    assert recent.get(world, other, "q") is None


def test_an_asker_is_kept_with_its_answers_so_that_no_other_can_be_taken_for_it() -> None:
    """Who asks is known by identity, which the next object may get once this one is gone."""
    recent, world, asker = Recent[str](2), (Thing(),), Thing()
    recent.put(world, asker, "q", "for one")
    known = weakref.ref(asker)
    del asker
    gc.collect()
    assert known() is not None


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    recent, world, asker = Recent[str](2), (Thing(),), Thing()
    for question in ("a", "b"):
        recent.put(world, asker, question, question)
    assert recent.get(world, asker, "a") == "a"
    recent.put(world, asker, "c", "c")
    assert [recent.get(world, asker, question) for question in ("a", "b", "c")] == ["a", None, "c"]
