"""The hub from Python: search as an agent does, load the best skill, and read a file of it.

python examples/python/hub.py [DIRECTORY [WORD …]]
"""

import os
import sys
import tempfile
from pathlib import Path

from skillhub_mcp import make_hub, read_settings


def main(directory: str, task: str, index: str) -> None:
    # The settings of the environment, as for the command line, with these two overridden.
    settings, _ = read_settings(os.environ, {"SKILLS_DIR": directory, "DB_PATH": index})
    hub = make_hub(settings, background=False)

    answer = hub.search(task, limit=3)
    for found in answer.hits:
        print(f"{found.score:.2f} {found.handle}: {found.skill.description[:60]}…")
    if not answer.confident:
        return  # What was found are near misses: nothing fits.

    best = answer.hits[0].handle
    print(hub.load(best).instructions.strip().splitlines()[0])
    files, _ = hub.list_files(best)
    print(", ".join(file.path for file in files))
    print(hub.read_file(best, files[0].path).content.splitlines()[0])


if __name__ == "__main__":
    library = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parents[1] / "skills")
    with tempfile.TemporaryDirectory() as scratch:
        main(library, " ".join(sys.argv[2:]) or "extract the invoice number from a PDF", str(Path(scratch, "index")))
