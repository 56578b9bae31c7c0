"""The local embedder: word vectors from an installed package, without any request."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillhub_mcp.embedders import local
from skillhub_mcp.embedders.local import LocalEmbedder
from skillhub_mcp.errors import EmbeddingError

EMBEDDER = LocalEmbedder()


def cosine(one: str, other: str) -> float:
    first, second = EMBEDDER.embed_documents([one, other])
    return sum(a * b for a, b in zip(first, second, strict=True))


WORDS = ("word", " word", "  two", "\u2581", "<s>", "</s>", "<unk>", "\n", "\U0001f600", "C#", " ", "  ")


@pytest.mark.slow
@given(st.lists(st.text(max_size=200) | st.lists(st.sampled_from(WORDS), max_size=9).map("".join), max_size=5))
@settings(deadline=None)
def test_every_text_has_one_vector_of_length_1_and_one_dimension(texts: list[str]) -> None:
    vectors = EMBEDDER.embed_documents(texts)
    assert len(vectors) == len(texts)
    assert {len(vector) for vector in vectors} <= {256}
    assert all(math.hypot(*vector) == pytest.approx(1.0, abs=1e-5) for vector in vectors)
    assert vectors == [EMBEDDER.embed_query(text) for text in texts]


def test_texts_with_the_same_meaning_are_nearer() -> None:
    assert cosine("send an email to the customer", "mail a client") > cosine(
        "send an email to the customer", "bake bread"
    )


def test_the_local_embedder_has_an_identity_and_is_instant() -> None:
    assert EMBEDDER.identity.startswith("local:wordllama")
    assert EMBEDDER.is_instant


def test_a_missing_package_is_reported_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "PACKAGE", "no_such_package_at_all")
    assert not local.is_installed()
    with pytest.raises(EmbeddingError) as caught:
        LocalEmbedder().embed_query("x")
    assert caught.value.hint == "in a checkout of SkillHub: pip install '.[local]'"


def test_a_damaged_package_is_reported_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "PACKAGE", "json")
    with pytest.raises(EmbeddingError, match="cannot be read") as caught:
        LocalEmbedder().embed_query("x")
    assert "--force-reinstall" in (caught.value.hint or "")


def test_the_package_itself_is_never_imported() -> None:
    code = (
        "import sys; from skillhub_mcp.embedders.local import LocalEmbedder; "
        "LocalEmbedder().embed_query('x'); "
        "assert not {'wordllama', 'requests', 'huggingface_hub'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
