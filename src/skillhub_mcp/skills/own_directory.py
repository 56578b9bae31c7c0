"""The directory in a root that is the hub's own: what is being installed, and what was removed.

It is hidden, so that no walk finds a skill in it.
"""

from __future__ import annotations

import os

OWN_DIRECTORY = ".skillhub"


def is_own(path: str, root: str) -> bool:
    """Whether `path` is the hub's own directory in `root`, or below it. Compares the paths only."""
    own = os.path.join(root, OWN_DIRECTORY)
    return path == own or path.startswith(own + os.sep)
