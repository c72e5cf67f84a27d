"""The context of a call, and the measurements on public data, for the tests of tools."""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from daeri.identity import Principal
from daeri.tools import ToolContext

if TYPE_CHECKING:
    from tests.tools.bfcl.measure import Report


@pytest.fixture
def context() -> ToolContext:
    def ignore(_: str) -> None: ...

    return ToolContext(call_id="call-1", principal=Principal(tenant="acme", subject="kim"), locale="en", report=ignore)


@pytest.fixture(scope="session")
def bfcl() -> Report:
    """What came of all of BFCL; the data is no part of the project."""
    here = str(Path(__file__).resolve().parent)
    sys.path.insert(0, here)
    measure = importlib.import_module("bfcl.measure")
    sys.path.remove(here)
    if not measure.DATA.is_file():
        pytest.skip(f"the BFCL data is not there: {measure.DATA}")
    return asyncio.run(measure.measure())
