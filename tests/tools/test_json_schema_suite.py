"""The JSON-Schema-Test-Suite, its required tests; remote schemas come from the suite, nothing is fetched."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from daeri.tools import SchemaValidator

DATA = Path(__file__).parents[3] / "shared" / "data" / "jsonschema" / "test_suite_draft7_2020-12.json.gz"
DRAFTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
NOTHING = object()
OTHER_REMOTES = ("draft3", "draft4", "draft6", "draft2019-09", "v1")


@pytest.fixture(scope="module")
def suite() -> dict[str, Any]:
    if not DATA.is_file():
        pytest.skip(f"the JSON-Schema-Test-Suite is not there: {DATA}")
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        return json.load(file)


def remotes(suite: dict[str, Any], draft: str) -> dict[str, Any]:
    foreign = [f"remotes/{name}/" for name in (*OTHER_REMOTES, *(other for other in DRAFTS if other != draft))]
    return {
        "http://localhost:1234/" + name.removeprefix("remotes/"): dialect_stated(document, draft)
        for name, document in suite.items()
        if name.startswith("remotes/") and not name.startswith(tuple(foreign))
    }


def dialect_stated(schema: Any, draft: str) -> Any:
    if not isinstance(schema, dict):
        return schema
    return {"$schema": DRAFTS[draft], **cast("dict[str, Any]", schema)}


def verdicts(suite: dict[str, Any], draft: str) -> Iterator[tuple[str, SchemaValidator, Any, bool]]:
    documents = remotes(suite, draft)
    for name, groups in suite.items():
        if not name.startswith(f"tests/{draft}/"):
            continue
        for group in groups:
            schema = group["schema"]
            stated = dialect_stated(schema if isinstance(schema, dict) else {"allOf": [schema]}, draft)
            # the suite holds `format` to be a remark, as the standard does by default
            validator = SchemaValidator(stated, formats=False, documents=documents)
            for test in group["tests"]:
                yield f"{name}: {group['description']}: {test['description']}", validator, test["data"], test["valid"]


@pytest.mark.parametrize(("draft", "count"), [("draft7", 927), ("draft2020-12", 1_299)])
def test_every_verdict_is_that_of_the_suite(suite: dict[str, Any], draft: str, count: int) -> None:
    seen = [(name, validator.accepts(data) == valid) for name, validator, data, valid in verdicts(suite, draft)]
    assert len(seen) == count
    assert [name for name, agrees in seen if not agrees] == []


def pointed_at(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        key: Any = part.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(key) if isinstance(value, list) else key]
        except LookupError:
            return NOTHING
    return value


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_refusal_names_a_place_in_the_value_and_what_is_wrong_there(suite: dict[str, Any], draft: str) -> None:
    for name, validator, data, valid in verdicts(suite, draft):
        problem = validator.problem(data)
        assert (problem is None) == valid, name
        if problem is not None:
            assert problem.message, name
            assert pointed_at(data, problem.path) is not NOTHING, name


@pytest.mark.parametrize("draft", DRAFTS)
def test_what_is_accepted_is_never_normalised(suite: dict[str, Any], draft: str) -> None:
    for name, validator, data, valid in verdicts(suite, draft):
        if valid:
            assert validator.normalise(data) is data, name
