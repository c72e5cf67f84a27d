import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from daeri.errors import DefinitionError
from daeri.tools import load_tools

TOOL = '''
from daeri.tools import tool

@tool
def {name}(number: int) -> int:
    """Take a number."""
    return number
'''


@pytest.fixture(autouse=True)
def _imports_are_forgotten() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("daeri_tools_", "room_")):
            del sys.modules[name]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def names(reference: str, root: Path) -> list[str]:
    return [item.tool.name for item in load_tools(reference, root=root).functions]


def problem(reference: str, root: Path) -> str:
    with pytest.raises(DefinitionError) as caught:
        load_tools(reference, root=root)
    return str(caught.value)


def test_a_file_gives_its_tools_and_may_import_its_siblings(tmp_path: Path) -> None:
    write(tmp_path / "room_sibling.py", TOOL.format(name="sibling"))
    write(tmp_path / "pay.py", "from room_sibling import sibling\n" + TOOL.format(name="pay") + "same = pay\n")
    assert names("pay.py", tmp_path) == ["sibling", "pay"]


def test_a_module_is_found_from_the_root(tmp_path: Path) -> None:
    write(tmp_path / "room_pkg" / "__init__.py", "")
    write(tmp_path / "room_pkg" / "deep.py", TOOL.format(name="deep"))
    assert names("room_pkg.deep", tmp_path) == ["deep"]


def test_two_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    write(tmp_path / "a" / "tools.py", TOOL.format(name="first"))
    write(tmp_path / "b" / "tools.py", TOOL.format(name="second"))
    assert names("a/tools.py", tmp_path) == ["first"]
    assert names("b/tools.py", tmp_path) == ["second"]


def test_a_file_is_run_once(tmp_path: Path) -> None:
    write(tmp_path / "pay.py", TOOL.format(name="pay"))
    assert load_tools("pay.py", root=tmp_path) == load_tools(str(tmp_path / "pay.py"))


def test_a_list_called_tools_is_the_whole_offer(tmp_path: Path) -> None:
    write(tmp_path / "pay.py", TOOL.format(name="one") + TOOL.format(name="two") + "tools = [two]\n")
    assert names("pay.py", tmp_path) == ["two"]


def test_providers_are_collected_too(tmp_path: Path) -> None:
    write(tmp_path / "pay.py", "from daeri.tools import PythonTools\nmine = PythonTools('mine', [])\n")
    loaded = load_tools("pay.py", root=tmp_path)
    assert [provider.name for provider in loaded.providers] == ["mine"]
    assert loaded.functions == ()


def test_a_file_beside_the_tools_does_not_shadow_what_is_installed(tmp_path: Path) -> None:
    write(tmp_path / "uuid.py", "raise RuntimeError('shadowed')")
    write(tmp_path / "pay.py", "import uuid\nuuid.uuid4()\n" + TOOL.format(name="pay"))
    assert names("pay.py", tmp_path) == ["pay"]


def test_dataclasses_with_postponed_annotations_work_in_a_file(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    text += "@dataclass\nclass Line:\n    sku: str\n"
    text += "from daeri.tools import tool\n@tool\ndef order(line: Line) -> str:\n    return line.sku\n"
    write(tmp_path / "shop.py", text)
    assert names("shop.py", tmp_path) == ["order"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\nboom = 1 / 0\n", "bad.py:2: ZeroDivisionError: division by zero"),
        ("def broken(:\n", "bad.py:1: invalid syntax"),
        ("import sys\nsys.exit(2)\n", "bad.py:2: SystemExit: 2"),
        ("\nimport absent_module_xyz\n", "bad.py:2: ModuleNotFoundError: No module named 'absent_module_xyz'"),
        (
            "from daeri.tools import tool\n@tool\ndef f(x) -> None: ...\n",
            "bad.py:2: tool 'f': parameter `x` has no type",
        ),
        ("x = 1\n", "no tools in it. Decorate a function of it with @tool."),
        ("tools = [print]\n", "<built-in function print> in its `tools` is not a tool"),
    ],
)
def test_a_file_that_can_not_be_used_is_named_with_line_and_cause(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path / "bad.py", text)
    assert words in problem("bad.py", tmp_path)


def test_a_file_that_failed_can_be_corrected_and_loaded(tmp_path: Path) -> None:
    write(tmp_path / "pay.py", "1 / 0\n")
    assert "ZeroDivisionError" in problem("pay.py", tmp_path)
    write(tmp_path / "pay.py", TOOL.format(name="pay") + "# corrected\n")
    assert names("pay.py", tmp_path) == ["pay"]


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    assert "there is no file" in problem("absent.py", tmp_path)
    assert "there is no module 'room_absent'" in problem("room_absent.tools", tmp_path)
    assert "Write FILE.py or package.module." in problem("not a module", tmp_path)
