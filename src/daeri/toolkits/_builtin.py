"""The toolkits as tools: names, descriptions and scopes; what they do is in the modules beside this one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from daeri.tools import FunctionTool, PythonTools, ToolContext, tool

from . import arithmetic
from ._config import ToolkitConfig, check
from ._documents import MAX_PASSAGES, DocumentIndex, FoundPassages
from ._fault import faults_told_in
from ._files import FileText, read_text
from ._knowledge import FoundFact, Knowledge
from ._roots import Roots
from ._word_count import TextSize, measure


class Calculation(TypedDict):
    """The value of an expression."""

    expression: str
    """The expression in its canonical form."""
    result: str
    """Decimal digits."""
    exact: bool
    """False when the result had to be rounded."""


def builtin_tools(config: ToolkitConfig) -> PythonTools:
    """The provider `toolkits`: the calculator, the word count, and what `config` gives something to read.

    Raises:
        SettingsError: a configured folder or file isn't there or can't be understood.
    """
    check(config)
    tools: list[FunctionTool[..., Any]] = [calculator, word_count]
    if config.file_roots:
        tools.append(_file_tool(Roots(config.file_roots)))
    if config.knowledge_files:
        tools.append(_knowledge_tool(Knowledge(config.knowledge_files)))
    if config.document_folders:
        tools.append(_document_tool(DocumentIndex(config.document_folders, morphemes=config.morphemes)))
    return PythonTools("toolkits", tools)


@tool(name="calculator", read_only=True, idempotent=True)
def calculator(expression: str, context: ToolContext) -> Calculation:
    """Calculate an arithmetic expression exactly: totals, products, differences, shares, averages, percentages.

    (계산, 합계, 총액, 총 가격, 더하기, 빼기, 곱하기, 나누기, 평균, 퍼센트)

    Args:
        expression: Arithmetic in digits such as `24*7` or `(1,200 + 300) * 10%`, without currencies and units (계산식).
            Operators: + - * / // % ** and brackets; functions: sqrt abs round floor ceil min max sum avg; constants:
            pi e. `10%` is 0.1, and `200 + 10%` is 200.1. Put a space after a comma between arguments: `max(100, 200)`.
        context: The call.
    """
    with faults_told_in(context.locale):
        result = arithmetic.evaluate(expression)
    return Calculation(expression=result.expression, result=result.text, exact=result.exact)


@tool(name="text.word_count", read_only=True, idempotent=True)
def word_count(text: str) -> TextSize:
    """Count the words, characters, lines and sentences of a text (글자 수, 단어 수, 어절 수, 줄 수, 문장 수 세기).

    Args:
        text: The text itself, not the name of a file (글, 본문).
    """
    return measure(text)


def _file_tool(roots: Roots) -> FunctionTool[..., FileText]:
    @tool(name="files.read", scopes=["files:read"], read_only=True, idempotent=True)
    def read(
        path: str,
        context: ToolContext,
        first_line: Annotated[int, Field(ge=1)] = 1,
        last_line: Annotated[int, Field(ge=1)] | None = None,
    ) -> FileText:
        """Read a text file from the folders that may be read (파일 읽기, 파일 내용 보기, 열기).

        Args:
            path: Name or relative path of the file, such as `notes/plan.md` (파일 이름, 경로).
            context: The call.
            first_line: First line to read, counted from 1 (시작 줄).
            last_line: Last line to read; without it, to the end (끝 줄).
        """
        with faults_told_in(context.locale):
            return read_text(roots, path, first_line, last_line)

    return read


def _knowledge_tool(knowledge: Knowledge) -> FunctionTool[..., FoundFact]:
    @tool(name="knowledge.lookup", scopes=["knowledge:read"], read_only=True, idempotent=True)
    def lookup(key: str, context: ToolContext) -> FoundFact:
        """Look up a stored fact: a price, a fee, a rate, opening hours (단가, 가격, 요금, 환율, 영업시간 조회·확인).

        Args:
            key: Name of the one fact, such as `unit price` or `단가`; ask for several facts one by one (항목 이름).
            context: The call.
        """
        with faults_told_in(context.locale):
            return knowledge.lookup(key)

    return lookup


def _document_tool(index: DocumentIndex) -> FunctionTool[..., FoundPassages]:
    @tool(name="documents.search", scopes=["documents:read"], read_only=True, idempotent=True)
    def search(query: str, limit: Annotated[int, Field(ge=1, le=MAX_PASSAGES)] = 5) -> FoundPassages:
        """Search the company's documents, such as policies and rules, for passages (문서, 규정, 정책, 자료 검색·찾기).

        Args:
            query: What to look for, in a few words (검색어, 주제).
            limit: Most passages to return (최대 개수).
        """
        return index.search(query, limit)

    return search
