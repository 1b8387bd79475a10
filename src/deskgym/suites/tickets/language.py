"""Read a reply the way the rules need it: folded text, words, and which clauses assert something.

Everything here is one pass over the text, so a reply of a million characters costs as much per
character as a short one; no pattern can back up over what it has read. Nothing raises on any
text, lone surrogates and control characters included.

The reading is deliberately strict. A clause that has a negation or a hedge anywhere in it asserts
nothing, so "a refund is something we cannot give" earns as little as "we cannot refund". The cost
is that "we have refunded the charge you did not make" earns nothing either: a plain clause does.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

QUOTED = '"'
"""Stands for a quoted word in `Clause.words`; no phrase matches it."""

# Letters that look like a Latin one in most fonts. Capitals are apart, because some pairs part
# company in lower case: the capital of Greek nu looks like N, its small letter like v.
_CAPITAL_LOOKALIKES = dict(
    zip("АВЕЅІЈКМНОРСТУХҮԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "abesijkmhopctyxygqwabezhikmnoptyxc", strict=True)
)
_SMALL_LOOKALIKES = dict(
    zip("авеѕіјкмнорстухүԁԛԝһӏґгпαβεικνορτυχγηωϲϳıɑɡɩʀ",
        "abesijkmhopctyxydqwhlrrnabeikvoptuxynwcjiagir", strict=True)
)  # fmt: skip
_PUNCTUATION = {
    **dict.fromkeys("‘’‚‛′ʼʹ`´＇", "'"),
    **dict.fromkeys("“”„‟″«»‹›＂", '"'),
    **dict.fromkeys("‐‑‒−﹣－", "-"),
    **dict.fromkeys("؟⁇⸮", "?"),
}
# A ligature that stands for a whole phrase would make a text many times longer.
_EXPANSION_MAX = 4


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if character in _PUNCTUATION:
        return _PUNCTUATION[character]
    if character in "\n\x85\u2028\u2029\x0b\x0c":
        return "\n"
    parts = unicodedata.normalize("NFKD", character)
    if len(parts) > _EXPANSION_MAX:
        return character
    folded: list[str] = []
    for part in parts:
        if part.isspace():
            folded.append(" ")
            continue
        # Marks (M), controls, formats (zero width), surrogates and unassigned (C) show nothing.
        if unicodedata.category(part)[0] in "MC":
            continue
        part = _PUNCTUATION.get(part, _CAPITAL_LOOKALIKES.get(part, part))
        folded.extend(_SMALL_LOOKALIKES.get(small, small) for small in part.casefold())
    return "".join(folded)


def fold(text: str) -> str:
    """Lower case, compatibility forms, quotes and look-alikes made plain; line breaks kept.

    Works a character at a time: `unicodedata.normalize` on a whole text sorts runs of combining
    marks in quadratic time, and accents are dropped here anyway.
    """
    return text.translate({ord(character): _fold_character(character) for character in set(text)})


def normalise(text: str) -> str:
    """`fold`, with every run of white space made one space and none at the ends."""
    return " ".join(fold(text).split())


_WORD = re.compile(r"\w+(?:'\w+)*")


def words(text: str) -> tuple[str, ...]:
    """The words of a text, folded. A hyphen parts words, an apostrophe inside one does not."""
    return tuple(_WORD.findall(fold(text)))


# --- what makes a clause say nothing ------------------------------------------------------------

_NEGATORS = frozenset(
    """not no never cannot cant wont dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt
    wouldnt couldnt shouldnt nope nah none nobody nothing nor neither non unable impossible
    unavailable ineligible refuse refuses refused refusing decline declines declined declining
    deny denies denied denying reject rejects rejected rejecting forbidden prohibited excluded
    hardly barely scarcely rarely seldom""".split()
)


def _by_first_word(*phrases: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    split = [tuple(phrase.split()) for phrase in phrases]
    return {first: tuple(p for p in split if p[0] == first) for first in {p[0] for p in split}}


_NEGATOR_PHRASES = _by_first_word(
    "fail to", "fails to", "failed to", "too late", "out of the question"
)
_HEDGES = frozenset(
    """could might may would wish i'd we'd you'd he'd she'd they'd it'd perhaps maybe possibly
    potentially hypothetically""".split()
)
# Negations in form only: what follows them is still said.
_IDIOMS = _by_first_word(
    "no problem", "no problems", "no worries", "no trouble", "no doubt", "no later than",
    "no extra cost", "no extra charge", "no additional cost", "no cost", "no fuss",
    "not only", "not just", "not to worry", "do not worry", "don't worry", "dont worry",
    "do not hesitate", "don't hesitate",
    "without delay", "without further delay", "without any delay",
)  # fmt: skip
# "I do not think that, frankly, we refund": the negation reaches over the comma.
_REPORTING = frozenset(
    """say think believe expect promise guarantee mean claim confirm assume suppose imagine
    pretend""".split()
)
_RETRACTING = frozenset(
    """way chance really possible happening today just only sorry ever i we do did am is are it that
    this think so""".split()
)
_JOKES = frozenset({"kidding", "joking"})

# --- where a clause begins ----------------------------------------------------------------------

_SUBJECTS = frozenset(
    """i i'm i've i'll we we're we've we'll you you're you've you'll they they're they've they'll
    he she it it's it'll this there""".split()
) | {"i'd", "we'd", "you'd", "they'd"}
_TURNS = frozenset({"but", "however", "therefore", "nevertheless", "instead", "because"})
_AFTER_COMMA = _SUBJECTS | {"so", "then", "please"}
_AFTER_AND = _SUBJECTS | {"will", "have", "has", "am", "are", "please"}
_CONDITIONS = frozenset({"if", "unless", "whether", "provided", "assuming", "without"})
_SET_ASIDE = frozenset({("instead", "of"), ("rather", "than"), ("in", "case")})


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of a reply.

    words: folded; a quoted word is replaced by `QUOTED`, since it is somebody else's.
    asserted: False for a condition, a question, and what is negated, hedged or taken back.
    question: it stands in a sentence that ends with a question mark.
    sentence: the number of its sentence in the text.
    """

    words: tuple[str, ...]
    asserted: bool
    question: bool
    sentence: int


@dataclass(frozen=True, slots=True)
class _Word:
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
    words: list[_Word]
    condition: bool
    turn: bool
    said: bool = True


# Each alternative is a run of one class of characters, or begins only where a line does: no
# character is looked at more than a fixed number of times.
_LEXEME = re.compile(
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


def _begins(sentence: list[_Word], at: int, current: _Draft) -> tuple[bool, bool, bool]:
    """Whether a clause begins at a word, and if so whether it is a condition, and a turn."""
    word = sentence[at]
    text = word.text
    following = sentence[at + 1].text if at + 1 < len(sentence) else ""
    sets_aside = (text, following) in _SET_ASIDE or text in _CONDITIONS
    # "without delay" and its kin are idioms: nothing is set aside.
    if sets_aside and not _phrase_length(_IDIOMS, _texts(sentence[at : at + 3]), 0):
        return True, True, False
    if not current.words:
        return False, False, text in _TURNS
    previous = current.words[-1].text
    begins = (
        word.cut
        or text in _TURNS
        or (word.comma and (current.condition or text in _AFTER_COMMA))
        or (current.condition and text == "then")
        or (not current.condition and previous in ("and", "so", "then") and text in _AFTER_AND)
    )
    return begins, False, text in _TURNS


def _clauses_of(sentence: _Sentence) -> list[_Draft]:
    drafts = [_Draft([], condition=False, turn=False)]
    for at, word in enumerate(sentence.words):
        current = drafts[-1]
        begins, condition, turn = _begins(sentence.words, at, current)
        if begins and current.words:
            drafts.append(_Draft([word], condition, turn))
        else:
            current.words.append(word)
            current.condition |= condition
            current.turn |= turn
    return drafts


def _texts(sentence: Iterable[_Word]) -> list[str]:
    return [word.text for word in sentence]


def _phrase_length(
    phrases: dict[str, tuple[tuple[str, ...], ...]], texts: list[str], at: int
) -> int:
    """The length of the longest phrase that stands there, or 0."""
    candidates = phrases.get(texts[at])
    if candidates is None:
        return 0
    lengths = (len(p) for p in candidates if tuple(texts[at : at + len(p)]) == p)
    return max(lengths, default=0)


def _is_month(texts: list[str], at: int) -> bool:
    """May with a number beside it is a date."""
    beside = texts[max(0, at - 1) : at] + texts[at + 1 : at + 2]
    return texts[at] == "may" and any(text[0].isdigit() for text in beside)


def _spoilers(texts: list[str]) -> list[int]:
    """Where the negations and hedges stand, those inside idioms left out."""
    found: list[int] = []
    skip_to = 0
    for at, text in enumerate(texts):
        if at < skip_to:
            continue
        if length := _phrase_length(_IDIOMS, texts, at):
            skip_to = at + length
        elif (
            is_negator(text)
            or (text in _HEDGES and not _is_month(texts, at))
            or _phrase_length(_NEGATOR_PHRASES, texts, at)
        ):
            found.append(at)
    return found


def is_negator(word: str) -> bool:
    """Whether one folded word negates: "not", "cannot", "won't", "unable", "refused"."""
    return word in _NEGATORS or word.endswith("n't")


def _is_retraction(texts: list[str]) -> bool:
    """ "No.", "I think not.", "Just kidding.": takes back what was said just before."""
    if len(texts) > 5:
        return False
    jokes = any(text in _JOKES for text in texts)
    negated = any(is_negator(text) for text in texts) and not _phrase_length(_IDIOMS, texts, 0)
    return (jokes or negated) and all(
        is_negator(text) or text in _RETRACTING or text in _JOKES for text in texts
    )


def _dangles(texts: list[str], spoilers: list[int]) -> bool:
    """ "I cannot - refund you": the negation waits for what comes next."""
    return bool(spoilers) and (
        spoilers[-1] == len(texts) - 1 or (texts[-1] == "to" and spoilers[-1] >= len(texts) - 2)
    )


def _resumes(draft: _Draft) -> bool:
    """Whether a clause goes on with one that was broken off: "(as you know) refund you"."""
    return draft.words[0].text not in _TURNS | _AFTER_COMMA | _AFTER_AND


def _judge(drafts: list[_Draft], carried: bool, earlier: list[_Draft]) -> bool:
    """Set `said` in the clauses of one sentence. Returns whether a negation is left dangling."""
    reaches = carried
    dangling = main_spoiled = False
    taken_back_to = 0
    for number, draft in enumerate(drafts):
        texts = _texts(draft.words)
        spoilers = _spoilers(texts)
        if draft.turn and not dangling:
            reaches = main_spoiled = False
        spoiled = bool(spoilers) or reaches or (main_spoiled and _resumes(draft))
        draft.said = not (draft.condition or spoiled)
        if _is_retraction(texts):
            for taken_back in drafts[taken_back_to:number] if number else earlier:
                taken_back.said = False
            taken_back_to = number
            # "No." waits for nothing; "I cannot" may take back, or be broken off: it does both.
            dangling = len(texts) > 1 and _dangles(texts, spoilers)
            reaches = reaches or dangling
        elif draft.condition:
            # "If not, reinstall": a condition keeps its negation to itself.
            dangling = False
        else:
            main_spoiled = main_spoiled or spoiled
            dangling = _dangles(texts, spoilers)
            reports = texts[-1] == "that" or not _REPORTING.isdisjoint(texts)
            reaches = reaches or dangling or (bool(spoilers) and reports)
    return dangling


def clauses(text: str) -> tuple[Clause, ...]:
    """Cut a reply into clauses and say of each whether it asserts what it says."""
    sentences: list[_Sentence] = []
    drafts: list[list[_Draft]] = []
    dangling = False
    for sentence in _sentences(fold(text)):
        parts = _clauses_of(sentence)
        dangling = _judge(parts, dangling, drafts[-1] if drafts else [])
        sentences.append(sentence)
        drafts.append(parts)
    return tuple(
        Clause(
            words=tuple(QUOTED if word.quoted else word.text for word in draft.words),
            asserted=draft.said and not sentence.question,
            question=sentence.question,
            sentence=number,
        )
        for number, (sentence, parts) in enumerate(zip(sentences, drafts, strict=True))
        for draft in parts
    )


# --- looking for phrases ------------------------------------------------------------------------


class Phrasebook:
    """Phrases to look for, each standing for a name. The longest that fits is taken."""

    def __init__(self, phrases: Iterable[tuple[str, str]]) -> None:
        """phrases: (phrase, the name it stands for)."""
        by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for phrase, name in phrases:
            parts = words(phrase)
            by_first.setdefault(parts[0], []).append((parts, name))
        self._by_first = {
            first: tuple(sorted(entries, key=lambda entry: -len(entry[0])))
            for first, entries in by_first.items()
        }

    def find(self, tokens: tuple[str, ...]) -> Iterator["Match"]:
        """Every match from left to right; matches do not overlap."""
        at = 0
        while at < len(tokens):
            for parts, name in self._by_first.get(tokens[at], ()):
                if tokens[at : at + len(parts)] == parts:
                    yield Match(name, " ".join(parts), at, len(parts))
                    at += len(parts)
                    break
            else:
                at += 1


@dataclass(frozen=True)
class Match:
    """A phrase found in some words: the name it stands for, as written, where, how many words."""

    name: str
    written: str
    at: int
    length: int


def negated_closely(tokens: tuple[str, ...], at: int) -> bool:
    """Whether one of the three words before a word negates it: "not very sorry"."""
    return any(is_negator(token) for token in tokens[max(0, at - 3) : at])
