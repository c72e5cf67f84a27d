"""Contexts of calls, as the boundary would hand them in."""

from typing import TYPE_CHECKING

import pytest

from daeri.identity import Principal
from daeri.tools import ToolContext

if TYPE_CHECKING:
    from daeri.text import Locale


def _context(locale: "Locale") -> ToolContext:
    principal = Principal(tenant="t", subject="tester")
    return ToolContext(call_id="c1", principal=principal, locale=locale, report=lambda _: None)


@pytest.fixture
def context() -> ToolContext:
    return _context("en")


@pytest.fixture
def korean_context() -> ToolContext:
    return _context("ko")
