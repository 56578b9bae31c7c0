"""Derive a draft JSON Schema (2020-12) from sample documents: one JSON document a file, or JSON lines."""

import argparse
import json
import re
import sys

FORMATS = {
    "date-time": re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})"),
    "date": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "email": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "uri": re.compile(r"https?://\S+"),
}
ENUM_AT_MOST = 5
ENUM_SEEN_AT_LEAST = 4


def type_of(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def derive(values):
    """Return the schema that all `values` satisfy."""
    types = sorted({type_of(value) for value in values})
    if "number" in types and "integer" in types:
        types.remove("integer")
    schema = {"type": types[0] if len(types) == 1 else types} if types else {}
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        names = dict.fromkeys(name for value in objects for name in value)
        schema["properties"] = {name: derive([value[name] for value in objects if name in value]) for name in names}
        required = [name for name in names if all(name in value for value in objects)]
        if required:
            schema["required"] = required
    items = [item for value in values if isinstance(value, list) for item in value]
    if items:
        schema["items"] = derive(items)
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        found = [name for name, pattern in FORMATS.items() if all(pattern.fullmatch(text) for text in texts)]
        distinct = sorted(set(texts))
        if found:
            schema["format"] = found[0]
        elif len(texts) >= ENUM_SEEN_AT_LEAST and len(distinct) <= ENUM_AT_MOST and len(distinct) < len(texts):
            schema["enum"] = [*distinct, None] if "null" in types else distinct
    return schema


def documents(text):
    """Return the documents of a file: one, or one a line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError as whole:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except json.JSONDecodeError:
            raise whole from None
        if not found:
            raise
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="sample files, or - for stdin")
    args = parser.parse_args()
    samples = []
    for name in args.files:
        try:
            if name == "-":
                text = sys.stdin.read()
            else:
                with open(name, encoding="utf-8-sig") as file:
                    text = file.read()
            samples += documents(text)
        except (OSError, ValueError) as error:
            print(f"error: {name}: {error}", file=sys.stderr)
            return 1
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **derive(samples)}
    print(json.dumps(schema, ensure_ascii=False, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
