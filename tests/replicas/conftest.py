"""Storage for replicas: that of the tests of publications."""

from __future__ import annotations

from tests.storage.conftest import bucket, s3, s3_server, target

__all__ = ["bucket", "s3", "s3_server", "target"]
