"""Doctor is tried as a person types it."""

from tests.cli.conftest import skillhub

__all__ = ["skillhub"]
