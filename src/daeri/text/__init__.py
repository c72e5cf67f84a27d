"""Korean and English text: JSON, safe text, tokens, ranking, numbers, languages, messages to people."""

from ._count import count_tokens
from ._cut import Cut, cut_middle
from ._json import Json, JsonObject, canonical_json, digest, digest_of_text
from ._locale import Locale, detect_locale, locale_from_environment
from ._messages import catalogue, fit_particles, message
from ._numbers import NumberMention, find_numbers, format_number
from ._ranking import RankedIndex
from ._scrub import scrub, scrub_text
from ._tokens import korean_stem, tokenize, words

__all__ = [
    "Cut",
    "Json",
    "JsonObject",
    "Locale",
    "NumberMention",
    "RankedIndex",
    "canonical_json",
    "catalogue",
    "count_tokens",
    "cut_middle",
    "detect_locale",
    "digest",
    "digest_of_text",
    "find_numbers",
    "fit_particles",
    "format_number",
    "korean_stem",
    "locale_from_environment",
    "message",
    "scrub",
    "scrub_text",
    "tokenize",
    "words",
]
