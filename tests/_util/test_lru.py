"""The least recently used entry goes first."""

from skillhub_mcp._util.lru import LRUCache


def test_the_least_recently_used_entry_is_dropped() -> None:
    cache = LRUCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert (cache.get("a"), "b" in cache) == (1, True)
    cache.put("c", 3)
    assert (cache.get("b"), list(cache.values())) == (None, [1, 3])
    cache.put("a", 4)
    cache.put("d", 5)
    assert list(cache.values()) == [4, 5]
    assert (cache.pop("d"), cache.pop("d")) == (5, None)
    cache.clear()
    assert list(cache.values()) == []
