"""Receipts of installations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillhub_mcp.locks.content_digest import FileDigest, content_digest
from skillhub_mcp.locks.receipts import InstallReceipt, parse_receipt, read_receipt, receipt_path, receipt_text

RECEIPT = InstallReceipt("pdf", {"run.sh": FileDigest("b" * 64, 9, True), "SKILL.md": FileDigest("a" * 64, 12, False)})


def test_a_receipt_says_after_reading_what_was_written(tmp_path: Path) -> None:
    path = Path(receipt_path(str(tmp_path), "pdf"))
    path.parent.mkdir(parents=True)
    path.write_text(receipt_text(RECEIPT))
    assert read_receipt(str(tmp_path), "pdf") == RECEIPT
    edited = InstallReceipt("pdf", RECEIPT.files, {"SKILL.md": FileDigest("c" * 64, 3, False)})
    assert parse_receipt(receipt_text(edited), "pdf") == edited
    assert RECEIPT.digest == content_digest({"SKILL.md": "a" * 64, "run.sh": "b" * 64})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        receipt_text(InstallReceipt("other", RECEIPT.files)),
        receipt_text(RECEIPT).replace('"version": 1', '"version": 2'),
        receipt_text(RECEIPT).replace("a" * 64, "short"),
        json.dumps({"version": 1, "name": "pdf", "files": {"a": []}}),
    ],
)
def test_a_receipt_that_is_damaged_newer_or_of_another_skill_is_none(text: str) -> None:
    assert parse_receipt(text, "pdf") is None


def test_there_is_none_where_nothing_was_installed(tmp_path: Path) -> None:
    assert read_receipt(str(tmp_path), "pdf") is None
