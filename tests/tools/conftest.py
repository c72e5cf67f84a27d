"""The context of a call, for the tests of tools."""

import pytest

from daeri.identity import Principal
from daeri.tools import ToolContext


@pytest.fixture
def context() -> ToolContext:
    def ignore(_: str) -> None: ...

    return ToolContext(call_id="call-1", principal=Principal(tenant="acme", subject="kim"), locale="en", report=ignore)
