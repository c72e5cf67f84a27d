from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def test_the_list_shows_what_governs_each_tool(project: Shell) -> None:
    lines = project("tools", "list").out.splitlines()

    assert lines[0].split() == ["Name", "Risk", "Scopes", "Source", "Description"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:]}
    assert rows["price.change"] == ["high", "price:read", "shop.py", "Change", "a", "price."]
    assert rows["calculator"][:3] == ["low", "-", "toolkits"]


def test_tools_of_the_command_line_come_on_top(project: Shell) -> None:
    source = (
        'from daeri import tool\n\n@tool(name="hello")\ndef hello() -> str:\n    """Say hello."""\n    return "hi"\n'
    )
    (project.folder / "own.py").write_text(source)

    names = {tool["name"] for tool in project("tools", "list", "--tools", "own.py", "--json").json}

    assert {"hello", "pay", "calculator"} <= names


def test_show_gives_schemas_hash_and_governance(project: Shell) -> None:
    as_json = project("tools", "show", "price.change", "--json").json
    as_text = project("tools", "show", "price.change").out

    assert as_json["risk"] == "high"
    assert as_json["scopes"] == ["price:read"]
    assert as_json["consequences"] == "The price changes for everybody."
    assert set(as_json["input_schema"]["properties"]) == {"product", "price"}
    assert as_json["output_schema"]["type"] == "string"
    assert f"Definition hash: {as_json['definition_hash']}" in as_text
    assert "Risk: high" in as_text
    assert "위험도: high" in project("tools", "show", "price.change", "--lang", "ko").out


def test_a_disabled_tool_is_marked(project: Shell) -> None:
    shown = project("tools", "show", "pay", DAERI_TOOLS_DISABLED="pay").out

    assert "Name: pay (disabled)" in shown


def test_a_tool_that_is_not_there_is_answered_with_a_similar_one(project: Shell) -> None:
    done = project("tools", "show", "price.fynd")

    assert done.code == 2
    assert done.err.startswith("There is no tool 'price.fynd'. Did you mean price.find")


def test_a_module_that_cannot_be_run_is_named_with_its_line(project: Shell) -> None:
    (project.folder / "shop.py").write_text("\n\n1 / 0\n")

    done = project("tools", "list")

    assert done.code == 2
    assert "shop.py" in done.err
    assert "ZeroDivisionError" in done.err
    assert "Traceback" not in done.err
