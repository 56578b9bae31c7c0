"""A digest of many texts, in any order, brought up to date by what changed."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.summed_digest import as_hex, summed

TEXTS = st.lists(st.text(), unique=True, max_size=8)


@given(TEXTS, TEXTS)
def test_a_change_gives_what_all_of_it_would(before: list[str], after: list[str]) -> None:
    gone = [text for text in before if text not in after]
    new = [text for text in after if text not in before]
    total = summed(new, without=gone, before=summed(before))
    assert total == summed(after) == summed(reversed(after))
    assert (total == summed(before)) is (not gone and not new)


def test_it_is_the_sum_of_a_hash_of_each() -> None:
    one, other = (int(hashlib.sha256(text).hexdigest(), 16) for text in (b"a", b"\xff"))
    assert as_hex(summed(["a", "\udcff"])) == f"{(one + other) % 2**256:064x}"
    assert as_hex(summed([])) == "0" * 64
