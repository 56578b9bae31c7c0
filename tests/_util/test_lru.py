"""The least recently used entry goes first."""

from skillhub_mcp._util.lru import LRUCache


def test_what_was_used_last_stays() -> None:
    cache = LRUCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert cache.get("b") is None
    assert list(cache) == ["a", "c"]
    assert cache.values() == (1, 3)


def test_asking_whether_there_is_an_entry_does_not_use_it() -> None:
    cache = LRUCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert "a" in cache
    cache.put("c", 3)
    assert "a" not in cache


def test_an_entry_that_is_replaced_is_used() -> None:
    cache = LRUCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("a", 3)
    cache.put("c", 4)
    assert list(cache) == ["a", "c"]
    assert cache.get("a") == 3


def test_entries_can_be_taken_out() -> None:
    cache = LRUCache[str, int](2)
    cache.put("a", 1)
    assert cache.pop("a") == 1
    assert cache.pop("a") is None
    cache.put("b", 2)
    cache.clear()
    assert len(cache) == 0
