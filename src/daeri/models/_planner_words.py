"""Words the planner knows, in Korean and English: none of them belongs to a tool."""

from __future__ import annotations

import re

from daeri.text import tokenize, words

# fmt: off
_FILLER = frozenset({
    "a", "an", "the", "is", "are", "was", "be", "do", "doe", "does", "did", "have", "has", "can", "could",
    "will", "would", "i", "me", "my", "we", "our", "you", "your", "it", "its", "this", "that", "there", "to",
    "of", "in", "on", "at", "for", "from", "by", "with", "into", "and", "or", "then", "what", "which", "who",
    "where", "when", "how", "many", "much", "please", "s", "all", "one", "right", "now", "today", "about", "up",
    "left", "any", "some", "everything", "so", "if", "as", "also", "need", "want", "like", "such", "주세요",
    "줘", "줄래", "알려줘", "알려", "보여", "보여줘", "말해", "해줘", "해", "좀", "뭐", "뭐야", "무엇", "무슨",
    "얼마", "얼마야", "어디", "언제", "언제야", "어디야", "누구야", "누구", "어떻게", "어때", "되나요",
    "됩니까", "돼", "되", "지금", "오늘", "현재", "이", "그", "저", "것", "수", "및", "또는", "그리고", "에서",
    "다음", "대한", "대해", "관한", "관해", "있", "있어", "있나", "몇", "까지", "부터", "라는", "이라는",
    "위한", "제발", "궁금", "싶어", "싶습니다",
})
_GENERIC = frozenset({
    "look", "lookup", "find", "search", "get", "show", "tell", "give", "check", "list", "see", "read", "fetch",
    "query", "know", "확인", "조회", "검색", "찾아", "찾", "찾아줘", "찾아봐", "목록", "읽어", "읽", "보기",
    "알아", "알아봐", "살펴",
})
_ACTIONS: dict[str, tuple[str, ...]] = {
    "create": ("생성", "만들", "등록", "작성", "추가", "open", "make", "add", "register"),
    "delete": ("삭제", "지우", "지워", "remove", "drop", "purge"),
    "update": ("수정", "변경", "바꿔", "바꾸", "change", "set", "edit", "modify"),
    "cancel": ("취소",),
    "close": ("종료", "닫"),
    "book": ("예약", "예매", "reserve", "reservation", "booking"),
    "request": ("신청", "요청", "apply"),
    "approve": ("승인", "reject", "반려"),
    "send": ("보내", "발송", "전송", "notify"),
    "invite": ("초대",),
    "pay": ("지불", "결제", "송금", "이체", "transfer", "refund", "환불", "charge", "purchase", "buy",
            "구매", "주문해"),
    "write": ("저장", "save", "upload", "업로드", "써"),
    "run": ("실행", "execute", "start", "stop", "restart", "deploy", "배포", "중지", "재시작"),
}
# fmt: on

_ENDINGS = re.compile(r"(?<=.)(?:습니다|아서|어서|으면|아|어|이|은|의)$")
_QUESTION = re.compile(
    r"\?\s*$|^\s*(?:what|when|where|who|which|how|is|are|does|do|can)\b|얼마|언제|어디|무엇|누구|몇|인가|나요|알려",
    re.I,
)
_SENTENCE_END = re.compile(r"[.!?()\n:;]+")

_GREETING = re.compile(
    r"^\W*(?:안녕|반가|하이|hello|hi|hey|good (?:morning|afternoon|evening)|thanks|thank you|고마|감사)", re.I
)
_ABOUT_ITSELF = re.compile(
    r"who are you|what are you|what can you do|are you (?:an? )?(?:ai|bot|human|language model|llm)|your name"
    r"|(?:너|넌|당신)\S*\s*(?:누구|뭐|무엇|이름)|누구(?:세요|야|니|십니까|예요)|(?:무엇|뭘|뭐)\S*\s*할 수|자기\s?소개",
    re.I,
)


def is_small_talk(goal: str) -> bool:
    """A greeting and hardly more, or a question about whoever answers."""
    if _ABOUT_ITSELF.search(goal):
        return True
    return bool(_GREETING.search(goal)) and len(words(goal)) <= 4


def is_question(goal: str) -> bool:
    """Whether a goal asks for information."""
    return bool(_QUESTION.search(goal))


def content_words(text: str) -> list[str]:
    """The words of a text that may say which tool is meant."""
    return [word for word in words(text) if word not in _FILLER and not (len(word) == 1 and word.isascii())]


def is_generic(word: str) -> bool:
    """Whether a word asks for some looking-up, whatever the tool."""
    return word in _GENERIC


def is_filler(word: str) -> bool:
    """Whether a word says nothing about what is wanted."""
    return all(part in _FILLER for part in words(word))


def akin(one: str, other: str) -> bool:
    """Whether two words are the same or forms of one: `translate` and `translation`, `회의` and `회의실`."""
    if one == other:
        return True
    if not one.isascii() and _root(one) == _root(other):
        return True
    short, long = sorted((one, other), key=len)
    if not long.startswith(short):
        common = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(short))
        return one.isascii() and common >= 5 and len(long) - common <= 4
    return len(short) >= 2 if not short.isascii() else len(short) >= 4 and len(long) - len(short) <= 4


def _root(word: str) -> str:
    """A Korean word cut down to what its forms share: `담아`, `담습니다`; `뜻이`, `뜻은`."""
    return _ENDINGS.sub("", word)


def known(word: str, vocabulary: frozenset[str]) -> bool:
    """Whether a vocabulary holds the word or a form of it."""
    return word in vocabulary or any(akin(word, other) for other in vocabulary)


def actions_in(text: str) -> frozenset[str]:
    """The kinds of change to the world that a text speaks of, as their English verbs."""
    return frozenset(verb for word in words(text) for verb in _actions_of(word))


def changing_words(name: str, description: str) -> list[str]:
    """The words with which a tool says that it changes something: in its name, or where a sentence has its verb."""
    sentences = [spoken for part in _SENTENCE_END.split(description) if (spoken := words(part))]
    verbs = [spoken[0] if spoken[-1].isascii() else spoken[-1] for spoken in sentences]
    # the plural `books.find` is about books, `book` is what it does
    named = [part.lower() for part in re.split(r"[._-]+|(?<=[a-z])(?=[A-Z])", name)]
    actions = {verb for word in (*named, *verbs) for verb in _actions_of(word)}
    return [*actions, *verbs] if actions else []


def vocabulary_of(text: str) -> frozenset[str]:
    """All words and search tokens of a text, without the filler."""
    return frozenset(
        word for word in (*words(text), *(t for t in tokenize(text) if t.isascii())) if word not in _FILLER
    )


def _actions_of(word: str) -> list[str]:
    return [verb for verb, forms in _ACTIONS.items() if _says(word, (verb, *forms))]


def _says(word: str, forms: tuple[str, ...]) -> bool:
    return any(word == form or (not form.isascii() and word.startswith(form)) for form in forms)
