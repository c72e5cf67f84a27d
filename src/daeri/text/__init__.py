"""Korean and English text: canonical JSON and digests, safe text, cutting, languages, messages to people."""

from ._cut import Cut, cut_middle
from ._json import Json, JsonObject, canonical_json, digest
from ._locale import Locale, detect_locale, locale_from_environment
from ._messages import catalogue, fit_particles, message
from ._scrub import scrub, scrub_text

__all__ = [
    "Cut",
    "Json",
    "JsonObject",
    "Locale",
    "canonical_json",
    "catalogue",
    "cut_middle",
    "detect_locale",
    "digest",
    "fit_particles",
    "locale_from_environment",
    "message",
    "scrub",
    "scrub_text",
]
