"""The tool `files.read` on real files, links and odd neighbours."""

import os
import unicodedata
from pathlib import Path
from typing import Any, cast

import pytest

from daeri.errors import ToolError
from daeri.toolkits import ToolkitConfig, builtin_tools
from daeri.tools import PythonTools, ToolContext


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("the secret", "utf-8")
    return folder


@pytest.fixture
def tools(root: Path) -> PythonTools:
    return builtin_tools(ToolkitConfig(file_roots=(root,)))


async def _read(tools: PythonTools, context: ToolContext, path: str, **lines: int) -> dict[str, Any]:
    return cast("dict[str, Any]", await tools.invoke("files.read", {"path": path, **lines}, context))


async def _refusal(tools: PythonTools, context: ToolContext, path: str, **lines: int) -> ToolError:
    with pytest.raises(ToolError) as refused:
        await _read(tools, context, path, **lines)
    return refused.value


async def test_a_file_comes_with_its_encoding_and_line_count(
    root: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / "notes.txt").write_text("first\nsecond\n", "utf-8")
    assert await _read(tools, context, "notes.txt") == {
        "path": "notes.txt",
        "encoding": "utf-8",
        "lines": 2,
        "first_line": 1,
        "last_line": 2,
        "cut": False,
        "text": "first\nsecond\n",
    }


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("단가는 24달러입니다".encode(), "utf-8"),
        ("단가는 24달러입니다".encode("utf-8-sig"), "utf-8"),
        ("단가는 24달러입니다".encode("cp949"), "cp949"),
        ("단가는 24달러입니다".encode("utf-16"), "utf-16"),
        (b"\xfe\xff" + "단가는 24달러입니다".encode("utf-16-be"), "utf-16"),
    ],
)
async def test_the_encodings_of_korean_offices_are_told_apart(
    data: bytes, encoding: str, root: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / "price.txt").write_bytes(data)
    result = await _read(tools, context, "price.txt")
    assert (result["text"], result["encoding"]) == ("단가는 24달러입니다", encoding)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
        "Crème brûlée à la carte".encode("latin-1"),
        "text".encode("utf-32"),
        bytes(range(256)),
    ],
)
async def test_what_is_no_text_is_refused_politely(
    data: bytes, root: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / "thing.bin").write_bytes(data)
    refused = await _refusal(tools, context, "thing.bin")
    assert refused.user_message == "The file 'thing.bin' holds no readable text."


async def test_line_ends_are_the_same_whatever_wrote_the_file(
    root: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / "windows.txt").write_bytes(b"a\r\nb\rc\n")
    assert (await _read(tools, context, "windows.txt"))["text"] == "a\nb\nc\n"


async def test_an_empty_file_is_an_empty_text(root: Path, tools: PythonTools, context: ToolContext) -> None:
    (root / "empty.txt").touch()
    result = await _read(tools, context, "empty.txt")
    assert (result["text"], result["lines"]) == ("", 0)


async def test_lines_can_be_asked_for(root: Path, tools: PythonTools, context: ToolContext) -> None:
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)), "utf-8")
    result = await _read(tools, context, "long.txt", first_line=99, last_line=200)
    assert (result["text"], result["first_line"], result["last_line"]) == ("line 99\nline 100\n", 99, 100)


@pytest.mark.parametrize("lines", [{"first_line": 4}, {"first_line": 3, "last_line": 2}])
async def test_lines_that_don_t_exist_are_refused(
    lines: dict[str, int], root: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / "short.txt").write_text("a\nb\nc\n", "utf-8")
    refused = await _refusal(tools, context, "short.txt", **lines)
    assert refused.user_message == "The file 'short.txt' has only 3 lines."


@pytest.mark.parametrize("encoding", ["utf-8", "cp949"])
async def test_a_huge_file_is_cut_where_everybody_sees_it(
    encoding: str, root: Path, tools: PythonTools, context: ToolContext
) -> None:
    # an odd byte before the Hangul, so that the cut falls inside a character in either encoding
    data = b"a" + ("가나다라마바사\n" * 100_000).encode(encoding)
    (root / "huge.log").write_bytes(data)
    result = await _read(tools, context, "huge.log")
    mark = f"\n[... {len(data) - 1_000_000:,} of {len(data):,} bytes cut: only the head of this file is read ...]\n"
    assert result["cut"] is True
    assert result["encoding"] == encoding
    assert result["text"].endswith(mark)
    assert result["text"].startswith("a가나다라마바사\n")


async def test_a_file_below_folders_is_found_with_and_without_the_root_s_name(
    root: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "deep.md").write_text("deep", "utf-8")
    for path in ("a/b/deep.md", "shared/a/b/deep.md", "./a/./b/../b/deep.md", str(root / "a/b/deep.md")):
        assert (await _read(tools, context, path))["path"] == "a/b/deep.md"


async def test_with_several_roots_names_say_which(tmp_path: Path, context: ToolContext) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.txt").write_text(name, "utf-8")
    tools = builtin_tools(ToolkitConfig(file_roots=(tmp_path / "first", tmp_path / "second")))
    results = [await _read(tools, context, path) for path in ("same.txt", "second/same.txt")]
    assert [(r["path"], r["text"]) for r in results] == [("first/same.txt", "first"), ("second/same.txt", "second")]


async def test_a_name_typed_in_composed_hangul_finds_the_decomposed_one(
    root: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / unicodedata.normalize("NFD", "보고서.txt")).write_text("내용", "utf-8")
    assert (await _read(tools, context, unicodedata.normalize("NFC", "보고서.txt")))["text"] == "내용"


async def test_a_missing_file_gets_the_closest_names(root: Path, tools: PythonTools, context: ToolContext) -> None:
    (root / "docs").mkdir()
    for name in ("report-2024.md", "docs/report-2025.md", "budget.csv", ".report-2026.md"):
        (root / name).touch()
    refused = await _refusal(tools, context, "report_2025.md")
    assert refused.diagnostic == (
        "no readable file 'report_2025.md'; did you mean: docs/report-2025.md, report-2024.md?"
    )
    assert refused.user_message == "No file 'report_2025.md' was found among the files that may be read."


async def test_a_folder_says_what_is_in_it(root: Path, tools: PythonTools, context: ToolContext) -> None:
    (root / "docs" / "old").mkdir(parents=True)
    (root / "docs" / "plan.md").touch()
    assert (await _refusal(tools, context, "docs")).diagnostic == (
        "'docs' is a folder, not a file; it contains old/, plan.md"
    )
    assert (await _refusal(tools, context, "docs/old")).diagnostic.endswith("it is empty")
    assert (await _refusal(tools, context, "")).diagnostic.endswith("it contains docs/")


@pytest.mark.parametrize(
    "shape", ["../outside/{}", "{outside}/{}", "link/{}", "a/../../outside/{}", "shared/../../outside/{}", "docs/up/{}"]
)
async def test_what_lies_outside_looks_the_same_whether_it_exists_or_not(
    shape: str, root: Path, outside: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / "link").symlink_to(outside)
    (root / "docs").mkdir()
    (root / "docs" / "up").symlink_to("../../outside")
    (root / "a").mkdir()
    there, missing = (shape.format(name, outside=outside) for name in ("secret.txt", "secreX.txt"))
    found, lost = await _refusal(tools, context, there), await _refusal(tools, context, missing)
    assert found.diagnostic.replace("secret", "secreX") == lost.diagnostic
    assert found.diagnostic.endswith("no file inside the readable folders has a similar name.")
    assert found.user_message.replace("secret", "secreX") == lost.user_message


async def test_a_link_out_of_the_root_looks_like_nothing(
    root: Path, outside: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / "good.txt").symlink_to(outside / "secret.txt")
    (root / "dead.txt").symlink_to(outside / "nothing.txt")
    (root / "loop.txt").symlink_to("loop.txt")
    for name in ("good.txt", "dead.txt", "loop.txt"):
        refused = await _refusal(tools, context, name)
        assert refused.diagnostic.startswith(f"no readable file {name!r}; no file inside")


async def test_a_link_that_stays_inside_is_followed(root: Path, tools: PythonTools, context: ToolContext) -> None:
    (root / "app-2026.log").write_text("started", "utf-8")
    (root / "latest.log").symlink_to("app-2026.log")
    result = await _read(tools, context, "latest.log")
    assert (result["path"], result["text"]) == ("app-2026.log", "started")


@pytest.mark.parametrize("swapped", ["file", "folder"])
async def test_a_path_swapped_for_a_link_after_the_check_is_not_followed(
    swapped: str, root: Path, outside: Path, tools: PythonTools, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "docs").mkdir()
    target = root / "docs" / "secret.txt"
    target.write_text("harmless", "utf-8")
    resolve = os.path.realpath

    def resolve_then_swap(path: Path) -> str:
        resolved = resolve(path)
        if swapped == "file" and not target.is_symlink():
            target.unlink()
            target.symlink_to(outside / "secret.txt")
        elif swapped == "folder" and not target.parent.is_symlink():
            target.parent.rename(root / "moved")
            target.parent.symlink_to(outside)
        return resolved

    monkeypatch.setattr(os.path, "realpath", resolve_then_swap)
    assert (await _refusal(tools, context, "docs/secret.txt")).diagnostic.startswith("no readable file")


@pytest.mark.parametrize("path", [".env", ".git/config", "docs/../.env", "plain.txt"])
async def test_hidden_files_look_like_nothing_even_through_a_link(
    path: str, root: Path, tools: PythonTools, context: ToolContext
) -> None:
    (root / ".git").mkdir()
    (root / "docs").mkdir()
    (root / ".git" / "config").write_text("token", "utf-8")
    (root / ".env").write_text("KEY=1", "utf-8")
    (root / "plain.txt").symlink_to(".env")
    assert (await _refusal(tools, context, path)).diagnostic.startswith(f"no readable file {path!r}; no file inside")


@pytest.mark.parametrize(
    "path", ["nul\0byte.txt", "x" * 5_000, "/", "~", "..", "a/" * 3_000, "\udcff.txt", "//etc/passwd"]
)
async def test_odd_paths_are_simply_not_found(path: str, tools: PythonTools, context: ToolContext) -> None:
    assert (await _refusal(tools, context, path)).diagnostic.startswith("no readable file")


async def test_a_pipe_is_refused_without_waiting_for_a_writer(
    root: Path, tools: PythonTools, context: ToolContext
) -> None:
    os.mkfifo(root / "pipe")
    refused = await _refusal(tools, context, "pipe")
    assert refused.user_message == "'pipe' is not a file that can be read."
    assert refused.diagnostic == "'pipe' is a device or pipe, not a file"


async def test_a_file_without_permission_says_so(
    root: Path, tools: PythonTools, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "locked.txt").touch()
    open_really = os.open

    def refuse(path: str | Path, flags: int, *, dir_fd: int | None = None) -> int:
        # Permission bits don't stop root, as whom tests may run.
        if path == "locked.txt":
            raise PermissionError(13, "Permission denied")
        return open_really(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    refused = await _refusal(tools, context, "locked.txt")
    assert refused.diagnostic == "'locked.txt' can't be read: Permission denied"
