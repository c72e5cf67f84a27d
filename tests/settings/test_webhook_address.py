from __future__ import annotations

import pytest
from pydantic import ValidationError

from daeri.settings import Settings

BAD = [
    "",
    "hooks.example",
    "ftp://hooks.example/",
    "http://",
    "https:///path",
    "http://:80/",
    "http://hooks.example:port/",
    "http://hooks.example:65536/",
    "http://hooks.example:0/",
    "http://hooks..example/",
    "http://[::1/",
    "http://hooks example/",
    "http://hooks.exa\tmple/",
    f"http://{'a' * 64}.example/",
]
GOOD = ["http://localhost:8080", "https://hooks.example/a?b=c", "https://[::1]:8443/hook", "https://한국.example/"]


@pytest.mark.parametrize("url", BAD)
def test_an_address_that_nothing_can_be_posted_to_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="not_a_web_address"):
        Settings.model_validate({"webhooks": {"url": url}})


@pytest.mark.parametrize("url", GOOD)
def test_an_address_of_the_web_is_taken_as_it_is(url: str) -> None:
    assert Settings.model_validate({"webhooks": {"url": url}}).webhooks.url == url
