"""What users agreed to, for all worker processes of one server."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection

from skillhub_mcp._util.private_files import PrivateFiles
from skillhub_mcp.policy.access import NOTHING_GRANTED, Grant
from skillhub_mcp.policy.tool_actions import Action

_MAX_SESSIONS = 1_000


class SharedAgreements:
    """The agreements of each session, by its key, in files of `directory`, sealed with the `secret` of the workers."""

    def __init__(self, directory: str, secret: bytes) -> None:
        self._files = PrivateFiles(directory, most=_MAX_SESSIONS)
        self._secret = secret

    def record(self, key: tuple[str, ...], granted: Collection[Grant]) -> None:
        """Record all that was agreed to in a session. Raises OSError."""
        content = json.dumps(sorted([grant.action.value, *grant[1:]] for grant in granted)).encode()
        self._files.write(key, self._seal(key, content) + content)

    def find(self, key: tuple[str, ...]) -> frozenset[Grant]:
        """Return what was agreed to in a session, as far as any worker knows."""
        kept = self._files.read(key) or b""
        seal, content = kept[: hashlib.sha256().digest_size], kept[hashlib.sha256().digest_size :]
        if not hmac.compare_digest(seal, self._seal(key, content)):
            return NOTHING_GRANTED
        return frozenset(Grant(Action(action), *rest) for action, *rest in json.loads(content))

    def _seal(self, key: tuple[str, ...], content: bytes) -> bytes:
        whose = json.dumps(key).encode()
        return hmac.new(self._secret, b"skillhub-agreements\0" + whose + b"\0" + content, hashlib.sha256).digest()
