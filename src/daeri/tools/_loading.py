"""Tools from a Python file or module that a user names."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard, cast

from daeri.errors import DefinitionError

from ._function import FunctionTool
from ._provider import ToolProvider


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedTools:
    """What a module offers."""

    functions: tuple[FunctionTool[..., Any], ...] = ()
    providers: tuple[ToolProvider, ...] = ()


def load_tools(reference: str, *, root: Path | None = None) -> LoadedTools:
    """The tools of `FILE.py` or `package.module`, seen from `root` (default: the current directory).

    A list or tuple called `tools` in the module is the whole offer; without one it is every tool and provider at
    module level. A file is run once per process, its siblings can be imported.

    Raises:
        DefinitionError: nothing there, nothing in it, or it can't be run; names file, line and cause.
    """
    base = (root or Path.cwd()).resolve()
    if reference.endswith(".py") or "/" in reference or "\\" in reference:
        module = _load_file(reference, (base / reference).resolve())
    else:
        module = _load_module(reference, base)
    return _collect(reference, module)


def _load_file(reference: str, file: Path) -> ModuleType:
    if not file.is_file():
        raise DefinitionError(f"tools {reference!r}", f"there is no file {file}", "Check the path.")
    name = f"daeri_tools_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    _make_importable(file.parent)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise DefinitionError(
            f"tools {reference!r}", f"{file.name} is not a Python file", "Name a file that ends in .py."
        )
    module = importlib.util.module_from_spec(spec)
    loader = spec.loader
    # dataclasses and type hints look their module up by name while it runs
    sys.modules[name] = module
    try:
        _run(reference, lambda: loader.exec_module(module), str(file))
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _load_module(reference: str, base: Path) -> ModuleType:
    if not all(part.isidentifier() for part in reference.split(".")):
        raise DefinitionError(f"tools {reference!r}", "neither a file nor a module", "Write FILE.py or package.module.")
    _make_importable(base)
    importlib.invalidate_caches()
    return _run(reference, lambda: importlib.import_module(reference), reference.replace(".", "/") + ".py")


def _make_importable(directory: Path) -> None:
    # at the end: a file next to the tools must not shadow what is installed
    if str(directory) not in sys.path:
        sys.path.append(str(directory))


def _run(reference: str, load: Callable[[], Any], file: str) -> Any:
    subject = f"tools {reference!r}"
    try:
        return load()
    except ModuleNotFoundError as error:
        if error.name and reference in (error.name, *_below(error.name, reference)):
            fix = "Check the name, or write the path of the file."
            raise DefinitionError(subject, f"there is no module {error.name!r}", fix) from None
        raise DefinitionError(subject, f"{_where(error, file)}: {_cause(error)}", "Install what it imports.") from None
    except SyntaxError as error:
        raise DefinitionError(subject, f"{error.filename}:{error.lineno}: {error.msg}", "Correct that line.") from None
    except (Exception, SystemExit) as error:
        raise DefinitionError(subject, f"{_where(error, file)}: {_cause(error)}", "Correct that line.") from None


def _below(package: str, reference: str) -> tuple[str, ...]:
    return (reference,) if reference.startswith(f"{package}.") else ()


def _where(error: BaseException, file: str) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.endswith(file)]
    frame = (own or frames)[-1]
    return f"{frame.filename}:{frame.lineno}"


def _cause(error: BaseException) -> str:
    text = str(error).rstrip(".")
    return (
        text
        if isinstance(error, DefinitionError)
        else f"{type(error).__name__}: {text}"
        if text
        else type(error).__name__
    )


def _collect(reference: str, module: ModuleType) -> LoadedTools:
    offered = vars(module).get("tools")
    listed = isinstance(offered, list | tuple)
    values = list(cast("list[object]", offered)) if listed else list(vars(module).values())
    # by identity: one tool under two names is one tool
    distinct = list({id(value): value for value in values}.values())
    functions = [value for value in distinct if _is_function_tool(value)]
    providers = [value for value in distinct if _is_provider(value)]
    strays = [value for value in distinct if not _is_function_tool(value) and not _is_provider(value)]
    if listed and strays:
        raise DefinitionError(
            f"tools {reference!r}", f"{strays[0]!r} in its `tools` is not a tool", "Decorate the function with @tool."
        )
    if not functions and not providers:
        raise DefinitionError(f"tools {reference!r}", "no tools in it", "Decorate a function of it with @tool.")
    return LoadedTools(functions=tuple(functions), providers=tuple(providers))


def _is_function_tool(value: object) -> TypeGuard[FunctionTool[..., Any]]:
    return isinstance(value, FunctionTool)


def _is_provider(value: object) -> TypeGuard[ToolProvider]:
    return (
        not isinstance(value, type | ModuleType)
        and isinstance(getattr(value, "name", None), str)
        and callable(getattr(value, "list_tools", None))
        and callable(getattr(value, "invoke", None))
    )
