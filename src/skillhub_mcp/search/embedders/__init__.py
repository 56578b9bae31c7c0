"""Placeholder by the lead so that imports work; helper-2 replaces this file whole."""

from __future__ import annotations

from skillhub_mcp.search.embedders.base import Embedder, EmbedderOptions, Vector

__all__ = ["Embedder", "EmbedderOptions", "Vector", "make_embedder"]


def make_embedder(options: EmbedderOptions) -> Embedder:
    raise RuntimeError(options)
