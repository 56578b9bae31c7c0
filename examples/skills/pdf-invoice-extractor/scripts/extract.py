# /// script
# requires-python = ">=3.10"
# dependencies = ["pypdf>=5"]
# ///
"""Extract the invoice number and key fields from invoice PDFs, each with the line it was read from.

Exit codes: 0 found, 1 file cannot be read, 2 usage, 3 a required field is missing, 4 the PDF has no text.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

FOUND, UNREADABLE, USAGE, MISSING, NO_TEXT = 0, 1, 2, 3, 4

NUMBER_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9/_.\-]*[A-Za-z0-9])?")
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero",
            "feb february februar février febrero",
            "mar march märz mars marzo",
            "apr april avril abril",
            "may mai mayo",
            "jun june juni juin junio",
            "jul july juli juillet julio",
            "aug august août agosto",
            "sep sept september septembre septiembre",
            "oct october oktober octobre octubre",
            "nov november novembre noviembre",
            "dec december dezember décembre diciembre",
        ),
        start=1,
    )
    for name in names.split()
}
DATE_VALUE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
    r"|\d{4}\s*年\s*\d{1,2}\s*月\s*\d{1,2}\s*日"
    r"|\d{1,2}\.?\s+[A-Za-zéûäÀ-ÿ]{3,10}\.?,?\s+\d{4}"
    r"|[A-Za-zéûäÀ-ÿ]{3,10}\.?\s+\d{1,2},?\s+\d{4}"
)
AMOUNT_VALUE = re.compile(
    r"(?<![0-9.,_-])(?:(?<![A-Za-z])|(?<=[A-Z]{3}))-?"
    r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+,\d{2}|\d{1,3}(?:[.,'’\u00a0\u202f]\d{2,3})+(?:[.,]\d{1,2})?"
    r"|\d+(?:[.,]\d{1,2})?)(?![A-Za-z0-9_%]|[.,]\d|\s*%)"
)
CURRENCY_CODE = re.compile(
    r"\b(USD|EUR|GBP|JPY|CNY|RMB|CHF|CAD|AUD|NZD|HKD|SGD|TWD|KRW|INR|SEK|NOK|DKK|PLN|CZK|BRL|MXN)\b"
)
CURRENCY_SYMBOL = re.compile(r"[€£¥￥$₹₩]|円|元")
SYMBOL_CODES = {"€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "円": "JPY", "元": "CNY"}

# Each field's labels, strongest first: a later pattern is tried only when the earlier ones found nothing.
LABELS: dict[str, tuple[str, ...]] = {
    "invoice_number": (
        r"\binvoice\s*(?:number|num\b\.?|no\b\.?|nr\b\.?|id\b|#)",
        r"\binv\b\.?\s*(?:number|no\b\.?|#)",
        r"\brechnungs\s*-?\s*(?:nummer|nr\b\.?)",
        r"\bn[°ºo]\.?\s*(?:de\s+)?facture|\bfacture\s*n[°ºo]\.?|\bnum[ée]ro de facture",
        r"\bn[úu]mero de factura|\bfactura\s*n[°ºo.]+",
        r"請求書?番号|发票号码|發票號碼|인보이스\s*번호",
        r"\b(?:tax\s+)?invoice\b(?!\s*(?:date|to\b|total|amount|address|for\b|period))",
    ),
    "issue_date": (
        r"\binvoice\s*date|\bdate\s+of\s+issue|\bissue\s*date|\bissued(?:\s+on)?|\brechnungsdatum",
        r"\bdate\s+(?:de\s+(?:la\s+)?facture|d['’]émission)|\bfecha\s+de\s+(?:la\s+)?(?:factura|emisión)",
        r"発行日|請求日|开票日期|開票日期",
        r"(?<!due )(?<!delivery )\bdate\b|\bdatum\b|\bfecha\b",
    ),
    "due_date": (
        r"\bdue\s*(?:date|on|by)|\bpayment\s+due|\bpay\s+by|\bfällig(?:keit)?(?:\s+am)?|\bzahlbar\s+bis",
        r"\b(?:date\s+d['’])?échéance|\bvencimiento|お?支払期限|付款期限|到期日",
    ),
    "purchase_order": (
        r"\bp\.?o\.?\s*(?:number|no\b\.?|#)|\bpurchase\s+order(?:\s*(?:number|no\b\.?|#))?",
        r"\b(?:your\s+)?order\s*(?:number|no\b\.?|#)|\bbestell(?:nummer|-?nr\b\.?)|\bn[°ºo]\.?\s*de\s+commande",
        r"\bnúmero\s+de\s+pedido|注文番号|発注番号|订单号",
    ),
    "vat_id": (
        r"\bvat\s*(?:id|no\b\.?|number|reg(?:istration)?\b\.?(?:\s*(?:no\b\.?|number))?)|\btax\s*id|\bgstin|\babn\b",
        r"\bust\.?-?\s*id\.?-?\s*nr\b\.?|\bn[°ºo]\.?\s*(?:de\s+)?tva|\bnif\b|\bcif\b|登録番号|纳税人识别号",
    ),
    "subtotal": (
        r"\bsub\s*-?\s*total|\bnet\s+(?:amount|total)|\btotal\s+(?:excl|before|net)\w*\.?(?:\s+(?:tax|vat))?",
        r"\bnettobetrag|\bzwischensumme|\btotal\s+h\.?t\b\.?|\bsous-total|\bbase\s+imponible|小計|税抜金額|金额合计",
    ),
    "tax": (
        r"\b(?:sales\s+)?tax\b(?!\s*(?:id|no|number|invoice))|\bvat\b(?!\s*(?:id|no|number|reg))|\bgst\b",
        r"\bmwst\b\.?|\bust\b\.?(?!-?\s*id)|\btva\b|\biva\b|消費税|税额",
    ),
    "total": (
        r"\binvoice\s+total|\bgrand\s+total|\btotal\s+(?:incl\w*|amount|gross)\.?(?:\s+(?:tax|vat))?",
        r"\bgesamtbetrag|\brechnungsbetrag|\btotal\s+t\.?t\.?c\b\.?|\b(?:importe\s+total|total\s+factura)",
        r"合計金額|ご?請求金額|价税合计|價稅合計",
        r"(?<![\w-])(?<!sub )total\b(?!\s*(?:due|excl|before|net|h\.?t))|合計|合计",
        r"\b(?:total|amount|balance)\s+due",
    ),
}
AMOUNT_DUE = re.compile(r"\b(?:amount|balance|total)\s+due", re.IGNORECASE)
DATES = ("issue_date", "due_date")
AMOUNTS = ("subtotal", "tax", "total")


def read_pdf(path: Path, password: str, pages: str) -> str:
    """Return the text of the chosen pages, laid out as on the page."""
    try:
        import pypdf
        from pypdf.errors import PyPdfError
    except ImportError:
        stop(UNREADABLE, "pypdf is missing: run this with 'uv run', install pypdf, or pass text with --text")
    try:
        reader = pypdf.PdfReader(str(path))
        if reader.is_encrypted and not reader.decrypt(password):
            stop(UNREADABLE, f"{path} is encrypted: pass its password with --password")
        chosen = page_numbers(pages, len(reader.pages))
        return "\n".join(reader.pages[number].extract_text(extraction_mode="layout") for number in chosen)
    except (OSError, PyPdfError, ValueError) as error:
        stop(UNREADABLE, f"{path} cannot be read: {error}")


def page_numbers(written: str, count: int) -> list[int]:
    """Turn '1-2,4' into indexes. Pages are counted from 1, as people count them."""
    if not written:
        return list(range(count))
    chosen: list[int] = []
    for part in written.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            stop(USAGE, f"--pages {written}: write it like 1-2,4")
        chosen += range(int(first) - 1, int(last or first))
    outside = [number + 1 for number in chosen if not 0 <= number < count]
    if outside:
        stop(USAGE, f"--pages {written}: page {outside[0]} is not among the {count} pages")
    return chosen


def extract(text: str) -> dict[str, Any]:
    """Return the fields, what is missing, and what a reader should look at twice."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    fields: dict[str, dict[str, Any]] = {}
    for field, labels in LABELS.items():
        hit = find(lines, field, labels)
        if hit is not None:
            fields[field] = hit
    currency = find_currency(lines, fields)
    if currency is not None:
        fields["currency"] = currency
    missing = [field for field in (*LABELS, "currency") if field not in fields]
    return {"fields": fields, "missing": missing, "notes": notes_on(lines, fields)}


def find(lines: list[str], field: str, labels: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the first value beside or below one of the labels."""
    for label in labels:
        pattern = re.compile(label, re.IGNORECASE)
        # A total stands below its parts, so the lowest one is meant.
        order = range(len(lines) - 1, -1, -1) if field == "total" else range(len(lines))
        for at in order:
            for match in pattern.finditer(lines[at]):
                hit = value_beside(lines[at], match.end(), field)
                evidence = lines[at]
                if hit is None and not lines[at][match.end() :].strip(" .:#").startswith(("-", "–")):
                    hit, evidence = value_below(lines, at, match.start(), field)
                if hit is not None:
                    return {**hit, "evidence": " ".join(evidence.split())}
    return None


def value_beside(line: str, end: int, field: str) -> dict[str, Any] | None:
    rest = re.sub(r"^[\s.:#：°º]+", "", line[end:])
    if field in AMOUNTS:
        found = list(AMOUNT_VALUE.finditer(rest))
        return amount(found[-1].group()) if found else None
    if field in DATES:
        match = DATE_VALUE.match(rest)
        return date(match.group()) if match else None
    return number(rest)


def value_below(lines: list[str], at: int, column: int, field: str) -> tuple[dict[str, Any] | None, str]:
    """Look in the next line for the value that stands nearest below the label."""
    if at + 1 == len(lines):
        return None, ""
    below = lines[at + 1]
    pattern = {"date": DATE_VALUE, "amount": AMOUNT_VALUE, "number": NUMBER_VALUE}[kind(field)]
    near = sorted(pattern.finditer(below), key=lambda match: abs(match.start() - column))
    if not near or abs(near[0].start() - column) > 12:
        return None, ""
    text = near[0].group()
    made = date(text) if field in DATES else amount(text) if field in AMOUNTS else number(text)
    return made, f"{lines[at]} / {below}"


def kind(field: str) -> str:
    return "date" if field in DATES else "amount" if field in AMOUNTS else "number"


def number(text: str) -> dict[str, Any] | None:
    """A number is one word that holds a digit and is not a date."""
    match = NUMBER_VALUE.match(text)
    if match is None or not any(character.isdigit() for character in match.group()):
        return None
    return None if DATE_VALUE.match(text) else {"value": match.group()}


def amount(text: str) -> dict[str, Any]:
    """Normalise 1.234,56 and 1,234.56 and 1'234.56 to 1234.56."""
    bare = re.sub(r"[ '’\u00a0\u202f]", "", text)
    mark = max(bare.rfind("."), bare.rfind(","))
    decimals = len(bare) - mark - 1 if mark >= 0 else 0
    if mark >= 0 and decimals in (1, 2):
        bare = re.sub(r"[.,]", "", bare[:mark]) + "." + bare[mark + 1 :]
    else:
        bare = re.sub(r"[.,]", "", bare)
    return {"value": str(Decimal(bare))}


def date(text: str) -> dict[str, Any]:
    """Give the date as written, and as YYYY-MM-DD where only one reading is possible."""
    return {"value": text, "iso": iso_date(text)}


def iso_date(text: str) -> str | None:
    parts = re.findall(r"\d+|[^\W\d_]+", text)
    words = [part for part in parts if not part.isdigit() and part not in "年月日"]
    numbers = [int(part) for part in parts if part.isdigit()]
    if words:
        month = MONTHS.get(words[0].lower())
        if month is None or len(numbers) != 2:
            return None
        return made_date(numbers[1], month, numbers[0])
    if len(numbers) != 3:
        return None
    if numbers[0] > 31:
        return made_date(numbers[0], numbers[1], numbers[2])
    first, second, year = numbers
    if "." in text or first > 12 or first == second:
        return made_date(year, second, first)
    return made_date(year, first, second) if second > 12 else None


def made_date(year: int, month: int, day: int) -> str | None:
    try:
        return datetime.date(year, month, day).isoformat()
    except ValueError:
        return None


def find_currency(lines: list[str], fields: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Take the code or symbol beside an amount, then a code anywhere."""
    beside = [fields[field]["evidence"] for field in ("total", "subtotal", "tax") if field in fields]
    for pattern, where in ((CURRENCY_CODE, beside), (CURRENCY_CODE, lines), (CURRENCY_SYMBOL, beside)):
        for line in where:
            match = pattern.search(line)
            if match is not None:
                value = SYMBOL_CODES.get(match.group(), match.group())
                return {"value": value, "evidence": " ".join(line.split())}
    return None


def notes_on(lines: list[str], fields: dict[str, dict[str, Any]]) -> list[str]:
    notes = []
    for field in DATES:
        if field in fields and fields[field]["iso"] is None:
            notes.append(f"{field} {fields[field]['value']}: day and month cannot be told apart")
    if all(field in fields for field in AMOUNTS):
        subtotal, tax, total = (Decimal(fields[field]["value"]) for field in AMOUNTS)
        if subtotal + tax != total:
            notes.append(f"subtotal + tax = {subtotal + tax}, but the total is {total}")
    if "currency" in fields and fields["currency"]["value"] in {"$", "¥", "￥"}:
        notes.append(f"{fields['currency']['value']} is used by several currencies; no code was found")
    if "total" in fields:
        due = [value_beside(line, match.end(), "total") for line in lines if (match := AMOUNT_DUE.search(line))]
        differing = [hit["value"] for hit in due if hit is not None and hit["value"] != fields["total"]["value"]]
        if differing:
            notes.append(f"the amount due is {differing[0]}, which is not the total")
    if "invoice_number" in fields:
        others = other_numbers(lines, fields["invoice_number"]["value"])
        if others:
            notes.append("other candidates for the invoice number: " + ", ".join(others))
    if any(re.search(r"\bcredit\s+(?:note|memo)\b|\bgutschrift\b|\bavoir\b", line, re.IGNORECASE) for line in lines):
        notes.append("the document calls itself a credit note")
    return notes


def other_numbers(lines: list[str], chosen: str) -> list[str]:
    found: list[str] = []
    for label in LABELS["invoice_number"][:-1]:
        for line in lines:
            for match in re.finditer(label, line, re.IGNORECASE):
                hit = value_beside(line, match.end(), "invoice_number")
                if hit is not None and hit["value"] != chosen and hit["value"] not in found:
                    found.append(hit["value"])
    return found


def as_text(result: dict[str, Any]) -> str:
    """Fill templates/invoice.txt."""
    template = Path(__file__).resolve().parent.parent / "templates" / "invoice.txt"
    fields = result["fields"]
    values = {field: shown(fields.get(field)) for field in (*LABELS, "currency")}
    if "currency" in fields:
        values |= {field: f"{values[field]} {values['currency']}" for field in AMOUNTS if field in fields}
    values["missing"] = ", ".join(result["missing"]) or "-"
    values["notes"] = "; ".join(result["notes"]) or "-"
    values["source"] = result["source"]
    return template.read_text(encoding="utf-8").format_map(values)


def shown(hit: dict[str, Any] | None) -> str:
    return "-" if hit is None else str(hit.get("iso") or hit["value"])


def write(results: list[dict[str, Any]], form: str) -> None:
    if form == "json":
        print(json.dumps(results if len(results) > 1 else results[0], ensure_ascii=False, indent=2))
    elif form == "text":
        print("\n".join(as_text(result) for result in results), end="")
    else:
        columns = ["source", *LABELS, "currency", "notes"]
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(columns)
        for result in results:
            cells = [shown(result["fields"].get(field)).removeprefix("-") for field in (*LABELS, "currency")]
            table.writerow([result["source"], *cells, "; ".join(result["notes"])])


def stop(code: int, sentence: str) -> Any:
    print(f"error: {sentence}", file=sys.stderr)
    raise SystemExit(code)


def source_text(source: str, args: argparse.Namespace) -> str:
    if args.text:
        try:
            text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            stop(UNREADABLE, f"{source} cannot be read as UTF-8 text: {error}")
    else:
        if not Path(source).is_file():
            stop(UNREADABLE, f"{source} is not a file")
        text = read_pdf(Path(source), args.password, args.pages)
    if not text.strip():
        stop(NO_TEXT, f"{source} holds no text: it is probably a scan, so run OCR first")
    return text


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Extract the invoice number and key fields from invoice PDFs.",
        epilog="exit codes: 0 found, 1 unreadable, 2 usage, 3 required field missing, 4 no text in the PDF",
    )
    parser.add_argument("source", nargs="+", help="PDF files (with --text: text files, or - for standard input)")
    parser.add_argument("--text", action="store_true", help="the sources are plain text, for instance from OCR")
    parser.add_argument("--pages", default="", help="only these pages, such as 1-2,4")
    parser.add_argument("--password", default="", help="for encrypted PDFs")
    parser.add_argument("--require", default="invoice_number", help="fields that must be found, comma-separated")
    parser.add_argument("--format", choices=("json", "text", "csv"), default="json")
    parser.add_argument("--dump", action="store_true", help="print the text itself and stop")
    args = parser.parse_args()
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # a real file here
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # a real file here

    required = [field.strip() for field in args.require.split(",") if field.strip()]
    unknown = [field for field in required if field not in (*LABELS, "currency")]
    if unknown:
        parser.error(f"--require: {unknown[0]} is not one of {', '.join((*LABELS, 'currency'))}")

    results = []
    for source in args.source:
        text = source_text(source, args)
        if args.dump:
            print(text)
            continue
        results.append({"source": source, **extract(text)})
    if args.dump:
        return FOUND
    write(results, args.format)
    lacking = [(result["source"], field) for result in results for field in required if field in result["missing"]]
    for source, field in lacking:
        print(f"error: {source}: {field} was not found", file=sys.stderr)
    return MISSING if lacking else FOUND


if __name__ == "__main__":
    raise SystemExit(main())
