"""Cut a reply into clauses, and say of each whether it asserts what it says.

The reading is deliberately strict. A clause that has a negation or a hedge anywhere in it asserts
nothing, so "a refund is something we cannot give" earns as little as "we cannot refund". The cost
is that "we have refunded the charge you did not make" earns nothing either: a plain clause does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from deskgym.rubric.language.fold import fold
from deskgym.rubric.language.negation import (
    dangles,
    idiom_length,
    is_retraction,
    listed,
    spoilers,
)

TEXTS_KEPT: Final = 256
CHARACTERS_KEPT_MAX: Final = 2_000
"""How many replies of which length are remembered cut: a score after each step reads the episode's
earlier replies again."""

QUOTED: Final = '"'
"""Stands for a quoted word in `Clause.words`; no phrase matches it."""

# "I do not think that, frankly, we refund": the negation reaches over the comma.
_REPORTING: Final = listed(
    """say think believe expect promise guarantee mean claim confirm assume suppose imagine
    pretend"""
)
_SUBJECTS: Final = listed(
    """i i'm i've i'll i'd we we're we've we'll we'd you you're you've you'll you'd they they're
    they've they'll they'd he she it it's it'll this there"""
)
_TURNS: Final = frozenset({"but", "however", "therefore", "nevertheless", "instead", "because"})
_AFTER_COMMA: Final = _SUBJECTS | {"so", "then", "please"}
_AFTER_AND: Final = _SUBJECTS | {"will", "have", "has", "am", "are", "please"}
_BEGINNINGS: Final = _TURNS | _AFTER_COMMA | _AFTER_AND
_CONDITIONS: Final = frozenset({"if", "unless", "whether", "provided", "assuming", "without"})
_SET_ASIDE: Final = {"instead": "of", "rather": "than", "in": "case"}
# What `_begins` has to look at closely, beside the marks that stand before a word.
_MARKED: Final = _BEGINNINGS | _CONDITIONS | _SET_ASIDE.keys()


class Clause(NamedTuple):
    """A stretch of a reply.

    Attributes:
        words: folded; a quoted word is replaced by `QUOTED`, since it is somebody else's.
        asserted: False for a condition, a question, and what is negated, hedged or taken back.
        question: it stands in a sentence that ends with a question mark.
        sentence: the number of its sentence in the text.
    """

    words: tuple[str, ...]
    asserted: bool
    question: bool
    sentence: int


class _Word(NamedTuple):
    """A word, and what stands before it: a comma, or a mark that cuts a clause off."""

    text: str
    quoted: bool
    comma: bool
    cut: bool


@dataclass(slots=True)
class _Sentence:
    words: list[_Word] = field(default_factory=list[_Word])
    question: bool = False


@dataclass(slots=True)
class _Draft:
    texts: list[str]
    quoted: bool
    condition: bool
    turn: bool
    said: bool = True


# Each alternative is a run of one class of characters, or begins only where a line does: no
# character is looked at more than a fixed number of times.
_LEXEME: Final = re.compile(
    r"(?P<word>\w+(?:'\w+)*)"
    r"|(?P<quoted_line>^[ ]*>[^\n]*)"
    r"|(?P<end>[.!?;]+)"
    r"|(?P<break>\n\s*\n|[–—―•▪·*|()\[\]{}]|(?<!\S)-+(?!\w)|-{2,})"
    r'|(?P<quote>")'
    r"|(?P<comma>,)",
    re.MULTILINE,
)


def _sentences(folded: str) -> Iterator[_Sentence]:
    """Cut a folded text at full stops, exclamation and question marks and semicolons."""
    unpaired = folded.count('"') % 2
    quotes_left = folded.count('"') - unpaired
    sentence = _Sentence()
    in_quote = comma = cut = False
    for lexeme in _LEXEME.finditer(folded):
        kind = lexeme.lastgroup
        if kind == "word":
            sentence.words.append(_Word(lexeme.group(), in_quote, comma, cut))
            comma = cut = False
        elif kind == "quote":
            if quotes_left:
                in_quote = not in_quote
                quotes_left -= 1
        elif kind == "comma":
            comma = True
        elif kind == "end":
            # A dot inside a number, a version or an address does not end anything.
            following = folded[lexeme.end() : lexeme.end() + 1]
            if following.isalnum() and set(lexeme.group()) == {"."}:
                continue
            if in_quote:
                cut = True
                continue
            sentence.question = "?" in lexeme.group()
            if sentence.words:
                yield sentence
            sentence = _Sentence()
            comma = cut = False
        else:
            cut = True
    if sentence.words:
        yield sentence


class _Beginning(NamedTuple):
    """Whether a clause begins at a word, as a condition, and as a turn."""

    begins: bool
    condition: bool
    turn: bool


_GOES_ON: Final = _Beginning(False, False, False)


def _beginning(sentence: list[_Word], at: int, current: _Draft) -> _Beginning:
    word = sentence[at]
    text = word.text
    following = sentence[at + 1].text if at + 1 < len(sentence) else ""
    if (
        text in _CONDITIONS or (text in _SET_ASIDE and _SET_ASIDE[text] == following)
    ) and not idiom_length([each.text for each in sentence[at : at + 3]], 0):
        return _Beginning(True, True, False)
    turn = text in _TURNS
    if not current.texts:
        return _Beginning(False, False, turn)
    begins = (
        word.cut
        or turn
        or (word.comma and (current.condition or text in _AFTER_COMMA))
        or (current.condition and text == "then")
        or (
            not current.condition
            and current.texts[-1] in ("and", "so", "then")
            and text in _AFTER_AND
        )
    )
    return _Beginning(begins, False, turn)


def _clauses_of(sentence: _Sentence) -> list[_Draft]:
    current = _Draft([], quoted=False, condition=False, turn=False)
    drafts = [current]
    for at, word in enumerate(sentence.words):
        begins, condition, turn = (
            _beginning(sentence.words, at, current)
            if word.cut or word.comma or word.text in _MARKED
            else _GOES_ON
        )
        if begins and current.texts:
            current = _Draft([], quoted=False, condition=condition, turn=turn)
            drafts.append(current)
        else:
            current.condition |= condition
            current.turn |= turn
        current.texts.append(word.text)
        current.quoted |= word.quoted
    return drafts


def _judge(drafts: list[_Draft], carried: bool, earlier: list[_Draft]) -> bool:
    """Set `said` in the clauses of one sentence. Returns whether a negation is left dangling."""
    reaches = carried
    dangling = main_spoiled = False
    taken_back_to = 0
    for number, draft in enumerate(drafts):
        texts = draft.texts
        spoiled_at = spoilers(texts)
        if draft.turn and not dangling:
            reaches = main_spoiled = False
        # "(as you know) refund you" goes on with a clause that was broken off.
        spoiled = bool(spoiled_at) or reaches or (main_spoiled and texts[0] not in _BEGINNINGS)
        draft.said = not (draft.condition or spoiled)
        if is_retraction(texts):
            for taken_back in drafts[taken_back_to:number] if number else earlier:
                taken_back.said = False
            taken_back_to = number
            # "No." waits for nothing; "I cannot" may take back, or be broken off: it does both.
            dangling = len(texts) > 1 and dangles(texts, spoiled_at)
            reaches = reaches or dangling
        elif draft.condition:
            # "If not, reinstall": a condition keeps its negation to itself.
            dangling = False
        else:
            main_spoiled = main_spoiled or spoiled
            dangling = dangles(texts, spoiled_at)
            reports = texts[-1] == "that" or not _REPORTING.isdisjoint(texts)
            reaches = reaches or dangling or (bool(spoiled_at) and reports)
    return dangling


def clauses(text: str) -> tuple[Clause, ...]:
    """Cut a reply into clauses and say of each whether it asserts what it says."""
    return _cut_again(text) if len(text) <= CHARACTERS_KEPT_MAX else _cut(text)


@lru_cache(maxsize=TEXTS_KEPT)
def _cut_again(text: str) -> tuple[Clause, ...]:
    return _cut(text)


def _cut(text: str) -> tuple[Clause, ...]:
    found: list[tuple[_Sentence, list[_Draft]]] = []
    dangling = False
    for sentence in _sentences(fold(text)):
        parts = _clauses_of(sentence)
        dangling = _judge(parts, dangling, found[-1][1] if found else [])
        found.append((sentence, parts))
    return tuple(
        clause
        for number, (sentence, parts) in enumerate(found)
        for clause in _finished(number, sentence, parts)
    )


def _finished(number: int, sentence: _Sentence, parts: list[_Draft]) -> Iterator[Clause]:
    start = 0
    for draft in parts:
        words = draft.texts
        if draft.quoted:
            own = sentence.words[start : start + len(words)]
            words = [QUOTED if word.quoted else word.text for word in own]
        start += len(words)
        asserted = draft.said and not sentence.question
        yield Clause(tuple(words), asserted, sentence.question, number)
