"""Tokenizers that keep nothing: a server that is asked something new with every request does not grow with it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
from tokenizers import Tokenizer, models

from skillhub_mcp.embedders.local import LocalEmbedder
from skillhub_mcp.embedders.uncached import without_cache

QUESTIONS = [f"{number} ways to read the invoices of another department" for number in range(2_000)]


class _Allocated(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in [
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        ]
    )


def allocated() -> int:
    """The bytes that C code has taken and not freed."""
    try:
        tell = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        pytest.skip("only glibc tells what is allocated")
    tell.restype = _Allocated
    found = tell()
    return int(found.uordblks + found.hblkhd)


def kept(ask: Callable[[str], object]) -> int:
    """The bytes that are kept of so many questions, each asked once."""
    # What is loaded with the first is not of the questions.
    ask("first")
    before = allocated()
    for question in QUESTIONS:
        ask(question)
    return allocated() - before


def by_pairs() -> Tokenizer:
    """A tokenizer of the kind that keeps what it has cut, and that nothing cuts into words before."""
    letters = {letter: number for number, letter in enumerate(sorted(set("".join(QUESTIONS)) | set("first")))}
    return Tokenizer(models.BPE(vocab=letters, merges=[]))


def test_what_a_tokenizer_would_keep_for_each_question_it_does_not() -> None:
    by_itself, without = by_pairs(), without_cache(by_pairs())
    assert kept(by_itself.encode) > 1_000 * len(QUESTIONS)
    assert kept(without.encode) < 100 * len(QUESTIONS)
    assert without.encode(QUESTIONS[7]).ids == by_itself.encode(QUESTIONS[7]).ids


def test_a_tokenizer_of_another_kind_stays_as_it_is() -> None:
    words = Tokenizer(models.WordLevel(vocab={"first": 0, "?": 1}, unk_token="?"))
    assert without_cache(words) is words
    assert words.encode("first").ids == [0]


@pytest.mark.slow
def test_word_vectors_are_found_for_any_number_of_questions_and_none_is_kept() -> None:
    assert kept(LocalEmbedder().embed_query) < 100 * len(QUESTIONS)
