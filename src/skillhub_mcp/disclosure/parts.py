"""Splits a body over the size limit into parts that end at a line; no part of it is dropped. Pure."""

from __future__ import annotations


def split_body(body: str, *, max_bytes: int) -> list[str]:
    """Return `body` in parts of at most `max_bytes` UTF-8 bytes; joined, they are the body again.

    A part ends at the end of a line if possible, else between two characters. An empty body is one empty part.
    """
    encoded = body.encode("utf-8", "surrogatepass")
    parts: list[str] = []
    start = 0
    while len(encoded) - start > max_bytes:
        end = encoded.rfind(b"\n", start, start + max_bytes) + 1
        if end <= start:
            end = start + max_bytes
            while end > start + 1 and _is_continuation(encoded[end]):
                end -= 1
        parts.append(encoded[start:end].decode("utf-8", "surrogatepass"))
        start = end
    parts.append(encoded[start:].decode("utf-8", "surrogatepass"))
    return parts


def _is_continuation(byte: int) -> bool:
    return byte in range(0x80, 0xC0)
