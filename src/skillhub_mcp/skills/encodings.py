"""The encoding of a text that is not UTF-8: the one that it is clearly in, or those that would fit. No I/O.

1. At most the first 64 KiB count, and of them only lines that are not ASCII.
2. A library scores the encodings in which people still keep text files. Each must give a plausible text: no control
   characters, no signs, capitals or letters of another script within words.
3. The best is the answer only if it is clearly better than every other that gives another text.
"""

from __future__ import annotations

import codecs
import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SAMPLE_BYTES = 64 * 1024
"""How many leading bytes of a file its encoding is told from."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding: its name, which `iconv` knows too, and the codec of Python that reads it."""

    name: str
    codec: str


@dataclass(frozen=True, slots=True)
class Detected:
    """The encoding of a text, None where none is clear, and the names of those that would fit, the likeliest first."""

    encoding: Encoding | None
    likely: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An encoding, and how sure the library must be of it: measured on texts of 6 characters and more."""

    name: str
    codecs: tuple[str, ...]
    least: float
    # Whether a byte is a character, so that any bytes are some text.
    one_byte: bool = True
    # Whether it adds letters to the Latin alphabet, of which a text has fewer than of the others.
    latin: bool = False
    # What its score counts, where it is much rarer than another that the same bytes may be in.
    weight: float = 1.0


# By the library's name for them. Of several codecs the first that can read the text is taken.
_CANDIDATES = {
    "cp932": _Candidate("Shift_JIS", ("cp932",), 0.05, one_byte=False),
    "euc_jis_2004": _Candidate("EUC-JP", ("euc_jp", "euc_jis_2004"), 0.05, one_byte=False),
    "gb18030": _Candidate("GB18030", ("gb18030",), 0.05, one_byte=False),
    "big5hkscs": _Candidate("Big5", ("cp950", "big5hkscs"), 0.02, one_byte=False),
    "cp949": _Candidate("EUC-KR", ("cp949",), 0.05, one_byte=False),
    "cp1251": _Candidate("Windows-1251", ("cp1251",), 0.05),
    "koi8-r": _Candidate("KOI8-R", ("koi8_r",), 0.05),
    "koi8-u": _Candidate("KOI8-U", ("koi8_u",), 0.05),
    "cp866": _Candidate("IBM866", ("cp866",), 0.05),
    "cp1253": _Candidate("Windows-1253", ("cp1253",), 0.05),
    "cp1252": _Candidate("Windows-1252", ("cp1252",), 0.02, latin=True),
    "cp1250": _Candidate("Windows-1250", ("cp1250",), 0.02, latin=True, weight=0.95),
    "iso8859-2": _Candidate("ISO-8859-2", ("iso8859_2",), 0.02, latin=True, weight=0.95),
    "cp1254": _Candidate("Windows-1254", ("cp1254",), 0.02, latin=True, weight=0.95),
    "mac-roman": _Candidate("Macintosh", ("mac_roman",), 0.02, latin=True, weight=0.5),
}
# The second best reading is at most this share of the best one where that is clear.
_CLEAR = 0.9
_MAX_LIKELY = 3
# A Chinese text has no Japanese syllables but where it quotes a few; a Japanese one in EUC-JP is also valid GB18030.
_MAX_KANA = 1 / 8
_JAPANESE = (Encoding("Shift_JIS", "cp932"), Encoding("EUC-JP", "euc_jp"))
_JAPANESE_KANA = 1 / 4
_MIN_KANA = 2
_MIN_WORD = 3
# The bytes of a few words in EUC-JP, GB18030 or EUC-KR are other words in the other two, and the library cannot tell.
# What tells is whether the commonest characters are there: a text has many, other bytes one by chance. For Japanese
# these are its syllables.
_USUAL = {
    "EUC-JP": frozenset[str](),
    "GB18030": frozenset(
        "一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好"
        "都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已从动两长知样现分将外但身些与高意进把法此"
        "实回二理美点月明其种声全工己话者向情部正名定问力机给等几很业最间新什打便位因重被电四第门相次使教再平真听信少关并内"
        "加化由代产入先五水万体别处总才场书比员性通目报立数件安表原应路期提更反合放做系计或利受果及今务制解各任至物台象记边"
        "共接它特直服题建度统色字请交让认算论百义术结指思非流每管连远资带快条变联言权往展该领传近留决周保办运半必完即求品转"
        "量空技程告语基式写识令收未持取设始版双历商片容研像找改议形早音际则首单据导影失网专若读观究包组造落视级码库测试译项"
        "配置编辑查档图模型据输"
    ),
    "EUC-KR": frozenset(
        "이다는의을에하를고가로지기사인은한서리시도자대해어나정스과상아들일전부수원그성제조여적보구면라니장만주공거있문않것"
        "습용위계동방중경미신발국등개선물무모회입생소화내실유우비오체연관명산안단결학행작록요청확할때된게데트"
    ),
}
_MIN_USUAL = 3
_USUAL_SHARE = 1 / 3

# How many characters of UTF-8 there are for each byte that is none, where only a few are damaged.
_MOSTLY = 4

_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_WORD = re.compile(r"[^\W\d_]+")
# Within words there are apostrophes, dashes and the middle dot of Catalan.
_WITHIN_WORD = re.compile(
    "[^\\W\\d_]([^\\w\\s\x00-\x7f\u2010-\u2015\u2018\u2019\u2026\u00b7\u00ad]|[\u00b2-\u00be])(?=[^\\W\\d_])"
)
_BESIDE_LETTER = re.compile("(?<=[^\\W\\d_])[^\\w\\s\x00-\x7f]|[^\\w\\s\x00-\x7f](?=[^\\W\\d_])")
_TRADE_MARKS = frozenset("®©™°")
_DAGGERS = "†‡"


def sampled(content: bytes) -> slice:
    """Return the part of a text that its encoding is told from: whole lines, from the first that is not ASCII on."""
    first = _NOT_ASCII.search(content)
    start = 0 if first is None else content.rfind(b"\n", 0, first.start()) + 1
    end = start + SAMPLE_BYTES
    if end < len(content):
        # No encoding here has a line feed within a character.
        end = content.rfind(b"\n", start, end) + 1 or end
    return slice(start, end)


def damaged_utf_8(content: bytes) -> str | None:
    """Return a text that is UTF-8 but for a few bytes, with U+FFFD in their place, or None if it is not."""
    sample = content[sampled(content)]
    read = sample.decode("utf-8", "replace")
    damaged = read.count("\ufffd")
    whole = sum(not character.isascii() for character in read) - damaged
    return content.decode("utf-8", "replace") if whole >= damaged * _MOSTLY else None


def detect(content: bytes) -> Detected:
    """Return the encoding of a text that is not UTF-8. For binary content none is clear and none would fit."""
    sample = content[sampled(content)]
    if _BINARY.search(sample):
        return Detected(None)
    lines = b"\n".join(line for line in sample.split(b"\n") if not line.isascii())
    if not lines:
        return Detected(None)
    japanese = next((encoding for encoding in _JAPANESE if _is_japanese(lines, encoding.codec)), None)
    if japanese is not None:
        return Detected(japanese, (japanese.name,))
    found = list(_readings(lines))
    if not found:
        fitting = (each for each in _CANDIDATES.values() if _read(lines, each) is not None)
        return Detected(None, tuple(each.name for each in fitting)[:_MAX_LIKELY])
    likely = tuple(dict.fromkeys(candidate.name for candidate, *_ in found))[:_MAX_LIKELY]
    (best, codec, score), *others = found
    clear = score >= best.least and all(other <= score * _CLEAR for _, _, other in others)
    evident = clear and _is_usual(_decode(lines, codec), best)
    return Detected(Encoding(best.name, codec) if evident else None, likely)


def one_of(names: Sequence[str]) -> str:
    """Return names as a choice in words: `A`, `A or B`, `A, B or C`."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _is_japanese(content: bytes, codec: str) -> bool:
    """Whether a text shows by itself that it is Japanese: no other is full of its syllables, and they are few bytes."""
    try:
        foreign = [character for character in _decode(content, codec) if not character.isascii()]
    except UnicodeDecodeError:
        return False
    kana = len(_KANA.findall("".join(foreign)))
    return kana >= _MIN_KANA and kana >= len(foreign) * _JAPANESE_KANA


def _readings(content: bytes) -> Iterator[tuple[_Candidate, str, float]]:
    """Yield the encodings that give a plausible text, its codec and its score from 0 to 1, the best first.

    Of several that give the same text, only the best.
    """
    # A fifth of a second to import, for files that are rare.
    import chardet

    scored = chardet.detect_all(
        content,
        include_encodings=_CANDIDATES,
        no_match_encoding="cp1252",
        ignore_threshold=True,
        compat_names=False,
        max_bytes=SAMPLE_BYTES,
    )
    weighed = [
        (candidate, float(one["confidence"]) * candidate.weight)
        for one in scored
        if (candidate := _CANDIDATES.get(str(one["encoding"]))) is not None
    ]
    seen: set[str] = set()
    for candidate, score in sorted(weighed, key=lambda each: -each[1]):
        reading = _read(content, candidate)
        if reading is not None and reading[1] not in seen:
            seen.add(reading[1])
            yield candidate, reading[0], score


def _read(content: bytes, candidate: _Candidate) -> tuple[str, str] | None:
    """Return the codec that reads the content as a plausible text, and the text."""
    for codec in candidate.codecs:
        try:
            text = _decode(content, codec)
        except UnicodeDecodeError:
            continue
        return (codec, text) if _is_plausible(text, candidate) else None
    return None


def _decode(content: bytes, codec: str) -> str:
    # A sample may end within a character.
    return codecs.getincrementaldecoder(codec)("strict").decode(content)


def _is_plausible(text: str, candidate: _Candidate) -> bool:
    shown = "".join(text.split())
    if any(unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs") for character in set(shown)):
        return False
    if candidate.name in ("GB18030", "Big5"):
        foreign = sum(not character.isascii() for character in shown)
        return len(_KANA.findall(shown)) <= foreign * _MAX_KANA
    if not candidate.one_byte:
        return True
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    if candidate.latin:
        letters = "".join(_WORD.findall(text))
        ascii_letters = sum(letter.isascii() for letter in letters)
        if ascii_letters < max(_MIN_WORD, len(letters) - ascii_letters):
            return False
    elif all(len(word) < _MIN_WORD for word in words):
        return False
    return not (_has_sign_in_word(text) or any(map(_is_no_word, words)))


def _is_usual(text: str, candidate: _Candidate) -> bool:
    """Whether a text in one of three encodings with the same structure has the characters that every such text has."""
    usual = _USUAL.get(candidate.name)
    if usual is None:
        return True
    letters = [character for character in text if character.isalpha() and not character.isascii()]
    count = sum(letter in usual for letter in letters)
    return count >= max(_MIN_USUAL, len(letters) * _USUAL_SHARE)


def _has_sign_in_word(text: str) -> bool:
    """Whether a sign stands within a word, or one that is neither punctuation nor money beside it."""
    if _WITHIN_WORD.search(text):
        return True
    signs = {found.group() for found in _BESIDE_LETTER.finditer(text)} - _TRADE_MARKS
    return any(sign in _DAGGERS or unicodedata.category(sign) in ("Sm", "Sk", "So") for sign in signs)


def _is_no_word(word: str) -> bool:
    """Whether letters of two scripts are mixed, or capitals and small letters as no one writes them."""
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
    if len(scripts & {"LATIN", "CYRILLIC", "GREEK"}) > 1:
        return True
    # Names such as `iOS` and `GitHub` are ASCII.
    capitals = any(letter.isupper() and not letter.isascii() for letter in word[1:])
    rising = any(before.islower() and after.isupper() for before, after in itertools.pairwise(word))
    return rising or (capitals and not word.isupper())
