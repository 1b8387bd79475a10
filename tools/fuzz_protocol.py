"""Feeds random texts to the raw-text tool protocol's parser and checks what it promises.

`python tools/fuzz_protocol.py --inputs 1000000 --seed 0`. Each text is put together from a grammar
of prose, calls, fences and tags; half of them are then damaged. For each,

- nothing is raised, and every error has a code of the closed set;
- the customer sees nothing tag-shaped, by a rule of its own that is written below;
- a stream that is fed the text in random pieces gives the same;
- a text that was not damaged gives exactly the calls and errors that were put into it.

A text depends on the seed and its number alone: `--first N --inputs 1` repeats one.
"""

import argparse
import json
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from deskgym import Action, Toolbox, load_suite
from deskgym.protocol import ERROR_CODES, CallError, Parsed, Stream, format_call, parse
from deskgym.protocol.tag import CLOSERS, OPENERS

PROGRESS_EVERY = 10_000
SPLITS_MAX = 6

_BETWEEN = f"(?:(?![{OPENERS}{CLOSERS}])[\\W_])*"
_TAG = re.compile(
    f"[{OPENERS}]{_BETWEEN}{_BETWEEN.join('tool')}{_BETWEEN}(?:"
    + "|".join(_BETWEEN.join(word) for word in ("call", "result", "error"))
    + ")"
)

_PROSE = (
    "", " ", "Hello, let me look.", "3 < 5 and 7 > 2", "Ihr Paket ist da — schön!", "a\r\nb",
    "\n\n", "1. first\n2. second", "> quoted", "`code`", "<b>bold</b>", "«Bonjour»", '{"a": 1}',
    "```", "~~~", "\U0001f600", "\ud83d", "\x00", "\u200b", "tool_call", "&lt;tool_call&gt;",
    "\u2028", "    indented",
)  # fmt: skip
_TAGS = (
    "<tool_call>", "</tool_call>", "<tool_result>", "</tool_result>", "<tool_error>", "<Tool_Call>",
    "< tool_call >", "<tool_call id='1'>", "\uff1ctool_call\uff1e", "\u2039/tool call\u203a",
    "<tool_", "call>", "</tool", "<", ">", "<to\u200bol_call>", "<\uff54ool_call>", "<TOOL-CALL/>",
)  # fmt: skip
_JUNK = (
    '"', "\\", "{", "}", "[", "]", ":", ",", "NaN", "1e999", "-", "0", "\\ud800", "\r", "\n",
    "\r\n", "```\n", "\n```", "\n````\n", "\n~~~", "   ```", "> ```\n", "- ```\n", '{"name":',
    '"arguments"',
)  # fmt: skip
_CHARACTERS = "\t\r<\\`\ud83d\ude00\u3008"
_VALUES = (
    0, -1, 4800, 1.5, 1e300, True, False, None, "", "S-410", "a } b", "</tool_call>", "```",
    "\n```\n", '"\\', "<tool_call>{}</tool_call>", "ü", "\U0001f600", "\u2028", [], {},
    [1, [2, {"a": []}]],
)  # fmt: skip
_WRONG = (
    ('{"name": "get_order", "arguments": {"order_id": NaN}}', "malformed_json"),
    ('{"name": "get_order", "name": "close"}', "malformed_json"),
    ("get_order(S-410)", "malformed_json"),
    ('{"name": "get_order", "arguments": {}}}', "malformed_json"),
    ('{"arguments": {}}', "missing_name"),
    ('{"name": 7}', "missing_name"),
    ('{"name": "get_ordre"}', "unknown_tool"),
    ('{"name": "get_order", "arguments": []}', "malformed_arguments"),
    ('{"name": "get_order", "order_id": "S-410"}', "malformed_arguments"),
    ('{"name": "get_order", "arguments": {"order_id": 1e999}}', "limit_exceeded"),
    ('{"name": "get_order", "arguments": ' + '{"a":' * 70 + "1" + "}" * 71, "limit_exceeded"),
)


class Broken(Exception):
    """The parser does not keep a promise; the message says which."""


@dataclass(frozen=True)
class Sample:
    """A text for the parser, and what has to come of it; None where anything may."""

    text: str
    stopped: bool
    expected: tuple[Action | str, ...] | None


@dataclass
class Tally:
    """How much was tried."""

    inputs: int = 0
    characters: int = 0
    calls: int = 0
    errors: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ERROR_CODES, 0))

    def add(self, sample: Sample, parsed: Parsed) -> None:
        self.inputs += 1
        self.characters += len(sample.text)
        self.calls += len(parsed.calls)
        for error in parsed.errors:
            self.errors[error.code] += 1

    def __str__(self) -> str:
        return f"{self.inputs:,} inputs, {self.calls:,} calls, {sum(self.errors.values()):,} errors"


def tag_shaped(text: str) -> bool:
    """Whether there is anything like a tag in a text."""
    if not any(opener in text for opener in OPENERS):
        return False
    return _TAG.search(unicodedata.normalize("NFKD", text).casefold()) is not None


Part = tuple[str, tuple[Action | str, ...]]


def _call(random: Random, toolbox: Toolbox) -> Part:
    arguments = {random.choice("abc"): random.choice(_VALUES) for _ in range(random.randrange(3))}
    action = Action(random.choice(toolbox.names), arguments)
    form = random.randrange(4)
    if form == 0:
        return format_call(action), (action,)
    key = "input" if form == 1 else "arguments"
    call = {"name": action.tool, key: arguments}
    body = json.dumps(call, indent=2 if form == 2 else None, ensure_ascii=form != 3)
    return f"<tool_call>{body}</tool_call>", (action,)


def _wrong(random: Random, _: Toolbox) -> Part:
    body, code = random.choice(_WRONG)
    return f"<tool_call>{body}</tool_call>", (code,)


def _fenced(random: Random, toolbox: Toolbox) -> Part:
    fence = random.choice("`~") * random.randrange(3, 6)
    indent = " " * random.randrange(4)
    end = random.choice(("\n", "\r\n", "\r"))
    inner = random.choice((_call, _wrong, _prose))(random, toolbox)[0]
    content = inner if fence not in inner else ""
    return f"{end}{indent}{fence}json{end}{content}{end}{fence} {end}", ()


def _prose(random: Random, _: Toolbox) -> Part:
    text = random.choice(_PROSE)
    return (text if text not in ("```", "~~~") else "x" + text), ()


def _noise(random: Random, _: Toolbox) -> Part:
    return random.choice((*_TAGS, *_JUNK, *_PROSE)), ()


_GRAMMAR: tuple[Callable[[Random, Toolbox], Part], ...] = (_call, _wrong, _fenced, _prose, _prose)


def sample(seed: int, number: int, toolbox: Toolbox) -> Sample:
    """One text, which depends on nothing but the seed and its number."""
    random = Random(f"{seed}:{number}")
    damaged = random.random() < 0.5
    makers = (*_GRAMMAR, _noise, _noise, _noise) if damaged else _GRAMMAR
    parts = [random.choice(makers)(random, toolbox) for _ in range(random.randrange(1, 7))]
    expected = tuple(item for part in parts for item in part[1])
    text = "\n".join(part[0] for part in parts)
    if not damaged:
        return Sample(text, random.random() < 0.5, expected)
    for _ in range(random.randrange(4)):
        text = _damage(random, text)
    return Sample(text, random.random() < 0.5, None)


def _damage(random: Random, text: str) -> str:
    start = random.randrange(len(text) + 1)
    stop = min(len(text), start + random.randrange(12))
    match random.randrange(5):
        case 0:
            return text[:start] + text[stop:]
        case 1:
            return text[:start] + random.choice((*_TAGS, *_JUNK)) + text[start:]
        case 2:
            return text[:stop] + text[start:]
        case 3:
            return text[:start]
        case _:
            return text[:start] + random.choice(_CHARACTERS) + text[start:]


def pieces(text: str, random: Random) -> Iterator[str]:
    """The text, cut at random places."""
    cuts = sorted(random.randrange(len(text) + 1) for _ in range(random.randrange(SPLITS_MAX)))
    for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        yield text[start:stop]


def streamed(parts: Iterator[str], toolbox: Toolbox, *, stopped: bool) -> Parsed:
    """What a stream makes of the pieces."""
    stream = Stream(toolbox)
    read = [stream.feed(part) for part in parts]
    read.append(stream.finish(stopped=stopped))
    return Parsed(
        tuple(item for each in read for item in each.items),
        "".join(each.visible for each in read),
    )


def examine(given: Sample, toolbox: Toolbox, random: Random) -> Parsed:
    """What the parser makes of a sample.

    Raises:
        Broken: a promise is not kept.
    """
    parsed = parse(given.text, toolbox, stopped=given.stopped)
    parsed.visible.encode()
    if tag_shaped(parsed.visible):
        raise Broken(f"the customer sees a tag: {parsed.visible!r}")
    if not {error.code for error in parsed.errors} <= ERROR_CODES.keys():
        raise Broken(f"an unknown code: {parsed.errors}")
    if not all(each.tool in toolbox and isinstance(each.arguments, dict) for each in parsed.calls):
        raise Broken(f"a call of no tool, or without arguments: {parsed.calls}")
    in_pieces = streamed(pieces(given.text, random), toolbox, stopped=given.stopped)
    if in_pieces != parsed:
        raise Broken(f"a stream gives {in_pieces}, and the whole text {parsed}")
    found = tuple(item.code if isinstance(item, CallError) else item for item in parsed.items)
    if given.expected is not None and found != given.expected:
        raise Broken(f"expected {given.expected}, got {found}")
    return parsed


def fuzz(
    inputs: int, seed: int, *, first: int = 0, progress: Callable[[Tally], None] | None = None
) -> Tally:
    """Try so many texts, from a number on.

    Raises:
        Broken: a promise is not kept; the message says how to repeat it.
    """
    toolbox = load_suite("service").toolbox
    tally = Tally()
    for number in range(first, first + inputs):
        given = sample(seed, number, toolbox)
        try:
            tally.add(given, examine(given, toolbox, Random(number)))
        except Exception as error:
            again = f"--seed {seed} --first {number} --inputs 1"
            raise Broken(f"{again}: {given!r}: {error!r}") from error
        if progress is not None and tally.inputs % PROGRESS_EVERY == 0:
            progress(tally)
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz from the command line, with a progress line where somebody looks on."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="how many texts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first text's number")
    options = parser.parse_args(arguments)

    def progress(tally: Tally) -> None:
        print(f"\r{tally}", end="", file=sys.stderr, flush=True)

    start = time.perf_counter()
    try:
        tally = fuzz(options.inputs, options.seed, first=options.first, progress=progress)
    except Broken as broken:
        print(f"\n{broken}", file=sys.stderr)
        return 1
    seconds = time.perf_counter() - start
    print(file=sys.stderr)
    print(f"{tally}; {tally.characters:,} characters in {seconds:.0f} s; every promise was kept")
    for code, count in tally.errors.items():
        print(f"  {code:20} {count:>9,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
