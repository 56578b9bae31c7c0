"""Names are compared by one rule."""

import pytest

from skillhub_mcp.skills.names import fold_name, is_specified_name, near_names, safe_alias, typed_command


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PDF", "pdf"),
        ("  data   analysis ", "Data Analysis"),
        ("\uff30\uff24\uff26", "pdf"),
        ("STRASSE", "stra\u00dfe"),
        ("e\u0301cole", "\u00c9cole"),
        ("\u041e\u0422\u0427\u0401\u0422", "\u043e\u0442\u0447\u0451\u0442"),
    ],
)
def test_names_that_differ_only_in_form_are_the_same(one: str, other: str) -> None:
    assert fold_name(one) == fold_name(other)


@pytest.mark.parametrize(("one", "other"), [("pdf", "pdf-tools"), ("resume", "r\u00e9sum\u00e9"), ("a b", "ab")])
def test_other_names_stay_distinct(one: str, other: str) -> None:
    assert fold_name(one) != fold_name(other)


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("pdf-2", "pdf-2"),
        ("データ", "データ"),
        ("привет-мир", "привет-мир"),
        ("Chat with PDF", "chat-with-pdf"),
        ("--a__b--", "a-b"),
        ("!!!", ""),
        ("x" * 65, "x" * 64),
        # Cut before a trailing hyphen.
        ("x" * 63 + " y", "x" * 63),
        ("x" * 62 + " y z", "x" * 62 + "-y"),
    ],
)
def test_a_safe_alias_is_always_a_valid_name(name: str, alias: str) -> None:
    assert safe_alias(name) == alias
    assert is_specified_name(alias) == bool(alias)


@pytest.mark.parametrize(
    ("names", "option", "typed"),
    [
        (["pdf"], "--project", "skillhub lock pdf --project"),
        (["a b", "it's"], "", "skillhub lock 'a b' 'it'\"'\"'s'"),
        (["-dash"], "", "skillhub lock -- -dash"),
        (["pdf", "--all"], "--project", "skillhub lock --project -- pdf --all"),
        ([], "--project", "skillhub lock --project"),
    ],
)
def test_a_name_in_a_command_is_one_word_and_no_option(names: list[str], option: str, typed: str) -> None:
    assert typed_command("skillhub lock", *names, option=option) == typed


NAMES = ["pdf", "pdf-forms", "chat-with-pdf", "code-review", "code-reviewer", "データ分析", "docx"]


@pytest.mark.parametrize(
    ("wanted", "first"),
    [
        ("pdff", "pdf"),
        ("PDF", "pdf"),
        ("pdf_forms", "pdf-forms"),
        ("code-reveiw", "code-review"),
        ("chat with pdf", "chat-with-pdf"),
        ("データ解析", "データ分析"),
    ],
)
def test_the_nearest_name_comes_first(wanted: str, first: str) -> None:
    assert near_names(wanted, NAMES)[0] == first


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a--b", "a b", "a.b", "a" * 65, "e\u0301", "🧪"])
def test_an_invalid_name_is_reported(name: str) -> None:
    assert not is_specified_name(name)


@pytest.mark.parametrize(
    ("wanted", "names", "found"),
    [
        ("zzzz", NAMES, []),
        ("", NAMES, []),
        ("pdf", [], []),
        ("pdf", ["PDF", "pdf", "Pdf"], ["PDF"]),
        ("ｐｄｆ", ["pdf", "docx"], ["pdf"]),
        ("STRASSE-MAP", ["straße-map"], ["straße-map"]),
        ("code", [f"code-{n}" for n in range(9)], ["code-0", "code-1", "code-2"]),
    ],
)
def test_suggestions_are_at_most_three_names_alike_in_their_folded_form(
    wanted: str, names: list[str], found: list[str]
) -> None:
    assert near_names(wanted, names) == found
