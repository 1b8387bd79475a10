"""What makes a clause say nothing: negations, hedges, and taking back what was said."""

from __future__ import annotations

from typing import Final


def listed(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


_NEGATORS: Final = listed(
    """not no never cannot cant wont dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt
    wouldnt couldnt shouldnt nope nah none nobody nothing nor neither non unable impossible
    unavailable ineligible refuse refuses refused refusing decline declines declined declining
    deny denies denied denying reject rejects rejected rejecting forbidden prohibited excluded
    hardly barely scarcely rarely seldom"""
)

Phrases = dict[tuple[str, ...], tuple[tuple[str, ...], ...]]
"""Phrases of two words or more by their first two, the longest first."""


def _by_first_words(*phrases: str) -> Phrases:
    split = sorted((tuple(phrase.split()) for phrase in phrases), key=len, reverse=True)
    return {first: tuple(p for p in split if p[:2] == first) for first in {p[:2] for p in split}}


_NEGATOR_PHRASES: Final = _by_first_words(
    "fail to", "fails to", "failed to", "too late", "out of the question"
)
_HEDGES: Final = listed(
    """could might may would wish i'd we'd you'd he'd she'd they'd it'd perhaps maybe possibly
    potentially hypothetically"""
)
# Negations in form only: what follows them is still said.
_IDIOMS: Final = _by_first_words(
    "no problem", "no problems", "no worries", "no trouble", "no doubt", "no later than",
    "no extra cost", "no extra charge", "no additional cost", "no cost", "no fuss",
    "not only", "not just", "not to worry", "do not worry", "don't worry", "dont worry",
    "do not hesitate", "don't hesitate",
    "without delay", "without further delay", "without any delay",
)  # fmt: skip
_RETRACTING: Final = listed(
    """way chance really possible happening today just only sorry ever i we do did am is are it that
    this think so"""
)
_JOKES: Final = frozenset({"kidding", "joking"})
_RETRACTION_WORDS_MAX: Final = 5
# Words at which a spoiler may stand; most clauses have none of them.
_SUSPECTS: Final = _NEGATORS | _HEDGES | {first for first, _ in _NEGATOR_PHRASES}


def is_negator(word: str) -> bool:
    """Whether one folded word negates: "not", "cannot", "won't", "unable", "refused"."""
    return word in _NEGATORS or word.endswith("n't")


def negated_closely(tokens: tuple[str, ...], at: int) -> bool:
    """Whether one of the three words before a word negates it: "not very sorry"."""
    return any(is_negator(token) for token in tokens[max(0, at - 3) : at])


def idiom_length(texts: list[str], at: int) -> int:
    """The length of the idiom that stands there ("no problem", "without delay"), or 0."""
    return _phrase_length(_IDIOMS, texts, at)


def spoilers(texts: list[str]) -> list[int]:
    """Where the negations and hedges of a clause stand, those inside idioms left out."""
    if not any(text in _SUSPECTS or text.endswith("n't") for text in texts):
        return []
    found: list[int] = []
    skip_to = 0
    for at, text in enumerate(texts):
        if at < skip_to:
            continue
        if length := idiom_length(texts, at):
            skip_to = at + length
        elif (
            is_negator(text)
            or (text in _HEDGES and not _is_month(texts, at))
            or _phrase_length(_NEGATOR_PHRASES, texts, at)
        ):
            found.append(at)
    return found


def is_retraction(texts: list[str]) -> bool:
    """Whether a clause takes back the one before: "No.", "I think not.", "Just kidding."."""
    if len(texts) > _RETRACTION_WORDS_MAX:
        return False
    taken_back = negated = False
    for text in texts:
        if is_negator(text):
            negated = True
        elif text in _JOKES:
            taken_back = True
        elif text not in _RETRACTING:
            return False
    return taken_back or (negated and not idiom_length(texts, 0))


def dangles(texts: list[str], spoiled_at: list[int]) -> bool:
    """Whether a negation waits for what comes next: "I cannot - refund you"."""
    return bool(spoiled_at) and (
        spoiled_at[-1] == len(texts) - 1 or (texts[-1] == "to" and spoiled_at[-1] >= len(texts) - 2)
    )


def _phrase_length(phrases: Phrases, texts: list[str], at: int) -> int:
    """The length of the longest phrase that stands there, or 0."""
    for phrase in phrases.get(tuple(texts[at : at + 2]), ()):
        if tuple(texts[at : at + len(phrase)]) == phrase:
            return len(phrase)
    return 0


def _is_month(texts: list[str], at: int) -> bool:
    """May with a number beside it is a date."""
    beside = texts[max(0, at - 1) : at] + texts[at + 1 : at + 2]
    return texts[at] == "may" and any(text[0].isdigit() for text in beside)
