"""Texts cut in pieces have the tokens that they have whole."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from skillhub_mcp.analysis.analyzer import terms
from skillhub_mcp.analysis.pieces import in_pieces, piece_terms, piece_words

# What divides words, what only seems to, and what is changed before words are looked for.
SIGNS = ["C#", "c++", "f#", "ac#", "++", "#", "_", "-", " ", "\n", "\x00", "\xa0", "\xad", "\u0301", "\u200d", "\ud800"]
WORDS = [
    "word",
    "Words",
    "camelCase",
    "PDFs",
    "café",
    "ﬁle",
    "…",
    "—",
    "²",
    "請求書",
    "ภาษา",
    "한국어",
    "हिन्दी",
    "x" * 70,
]
TEXTS = st.lists(st.sampled_from(SIGNS + WORDS) | st.text(max_size=5), max_size=20).map("".join)


def terms_by_pieces(texts: list[str]) -> list[list[str]]:
    content, begins = in_pieces(texts)
    each = [content[begin:end] for begin, end in zip(begins.tolist(), begins[1:].tolist(), strict=False)]
    return [[term for piece in text.split(b" ") for term in piece_terms(piece)] for text in each]


@given(st.lists(TEXTS, max_size=4))
@example(["C#", "# heading", "a" * 5_000 + "\xad" + "C++ e\u0301"])
def test_the_terms_of_the_pieces_are_those_of_the_text(texts: list[str]) -> None:
    assert terms_by_pieces(texts) == [terms(text) for text in texts]


def test_words_of_a_piece_are_folded_and_not_too_short() -> None:
    assert piece_words("Café—au-PDF".encode()) == ["cafe", "pdf"]
    assert piece_words("請".encode()) == ["請"]
