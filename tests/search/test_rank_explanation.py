"""What the first hit has that another has not, in words."""

from __future__ import annotations

from skillhub_mcp.search.contributions import Contribution
from skillhub_mcp.search.query import Alternative, Clause, TermOrigin
from skillhub_mcp.search.rank_explanation import differences


def part(word: str, worth: float, *fields: str) -> Contribution:
    choice = Alternative((word,), 1.0, TermOrigin.ASKED, word)
    return Contribution(Clause(word, (choice,)), choice, worth, fields)


def test_differences_are_sorted_by_weight_and_similar_weights_ignored() -> None:
    first = [
        part("pdf", 4.0, "name"),
        part("merge", 3.0, "name", "description"),
        part("page", 9.0, "description", "body"),
    ]
    own = [part("pdf", 3.5, "body"), part("page", 1.0, "description", "body"), part("more", 9.0, "name")]
    assert [one.describe() for one in differences(own, first)] == [
        "'page': the first has it in its description and body, this one too, where it is one word among more",
        "'merge': the first has it in its name and description, this one nowhere",
    ]
    assert differences(first, first) == ()
    (in_body,) = differences([part("pdf", 1.0, "body")], first[:1])
    assert in_body.describe() == "'pdf': the first has it in its name, this one in its body"
