"""Text that a reader of the rendered page does not see: comments, and elements styled to be invisible. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Words after which hidden text addresses an agent, or acts. `audit` adds what the other rules find in it.
_ADDRESSES = re.compile(
    r"\b(?:assistant|ai agents?|agents?|llms?|language model|the model|claude|gpt|copilot|chatbot)s?\b ?[:,!]?.{0,60}"
    r"\b(?:must|should|have to|has to|shall|need to|please|always|never|do not|don't|ignore|execute|run|read|send|include|"
    r"upload|append|add|call|before|you)\b"
    r"|\b(?:hidden|secret)[ -](?:instructions?|directives?|commands?|tasks?)\b"
    r"|\b(?:before|when|while|after) (?:you )?(?:answering|responding|reading|review\w{0,3}|read)\b.{0,60}\b(?:silently|secretly|execute|run|send|upload|fetch)\b"
    r"|\b(?:add|send|include|append|attach|forward|upload|post) (?:the )?user'?s\b"
    r"|\byou (?:must|have to|shall) (?:ignore|send|execute|run|upload|never|read|include)\b"
)
_STYLE = re.compile(
    r"<(\w{1,10})\b[^<>]{0,120}(?:display: ?none|visibility: ?hidden|font-size: ?0(?![.\d]*[1-9])|opacity: ?0(?:[;\"' ]|$)|color: ?(?:white|#fff(?:fff)?|transparent)\b|\bhidden\b)[^<>]{0,120}>",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"^ {0,3}\[(?://|comment|_metadata_|#|\^?_)[^\]\n]{0,40}\]: ?(?:#|<>|/)?[^\n]{0,1200}$", re.MULTILINE
)
_LONGEST = 4_000
# No honest page has so many.
MOST = 500


@dataclass(frozen=True, slots=True)
class HiddenText:
    """A text that rendering hides, and where in the whole text it starts."""

    text: str
    position: int


def hidden_texts(text: str) -> Iterator[HiddenText]:
    """Yield the comments and invisible elements of a Markdown text, each up to 4,000 characters."""
    at = text.find("<!--")
    while at >= 0:
        end = text.find("-->", at + 4)
        end = len(text) if end < 0 else end
        yield HiddenText(text[at + 4 : min(end, at + _LONGEST)], at)
        at = text.find("<!--", end)
    if "]:" in text:
        yield from (HiddenText(one[0], one.start()) for one in _REFERENCE.finditer(text))
    if "<" in text:
        for opened in _STYLE.finditer(text):
            end = text.find(f"</{opened[1]}", opened.end(), opened.end() + _LONGEST)
            if end > 0:
                yield HiddenText(text[opened.end() : end], opened.start())


def addresses_an_agent(prose: str) -> bool:
    """Whether a folded text speaks to an agent, rather than to a reader or an author."""
    return _ADDRESSES.search(prose) is not None
