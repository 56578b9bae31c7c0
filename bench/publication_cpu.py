"""Compare the CPU of a first publication with LanceDB writing the same rows: python -m bench.publication_cpu

The library has 1,000 skills of 5 KB, the target is a directory, and the index exists already.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.store.publications import Library, opened

from skillhub_mcp.index.lance import connect, run
from skillhub_mcp.index.schema import indexes
from skillhub_mcp.store.publish import PublishOptions, publish
from skillhub_mcp.store.tables import open_target

_SKILLS = 1_000
_WORDS = 600
_TABLES = ("files", "skills", "publications")


def _write_skills(root: Path) -> None:
    for number in range(_SKILLS):
        body = " ".join(f"word{(7 * number + at) % 3_000}" for at in range(_WORDS))
        header = f"---\nname: skill-{number}\ndescription: Does thing {number}.\n---\n"
        (root / f"skill-{number}").mkdir(parents=True)
        (root / f"skill-{number}" / "SKILL.md").write_text(header + body, "utf-8")


async def _write(place: str, tables: dict[str, Any]) -> None:
    database = await connect(place)
    for name, rows in tables.items():
        table = await database.create_table(name, schema=rows.schema)
        await table.add(rows)
        for index, (column, config) in indexes().items() if name == "skills" else ():
            await table.create_index(column, config=config, name=index)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        skills, target = Path(scratch, "skills"), open_target(str(Path(scratch, "publication")), {})
        _write_skills(skills)
        places = {"SKILLS_DIR": str(skills), "DB_PATH": str(Path(scratch, "db", "skills.lancedb"))}
        environment = {"PATH": os.environ["PATH"], "HOME": scratch, "EMBEDDING_PROVIDER": "none", **places}
        with Library(environment).read() as library:
            began = time.process_time()
            publish(library, target, PublishOptions())
            ours = time.process_time() - began
        tables = {name: opened(target, name).to_arrow() for name in _TABLES}
        began = time.process_time()
        run(_write(str(Path(scratch, "alone")), tables))
        alone = time.process_time() - began
    print(f"publication {ours:.2f} s, LanceDB alone {alone:.2f} s: {ours / alone:.1f} times")


if __name__ == "__main__":
    main()
