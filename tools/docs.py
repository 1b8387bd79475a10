"""Runs what the documents show, and compares or writes what they claim.

`python tools/docs.py check` compares; `python tools/docs.py write` corrects. Documents are the
Markdown files beside pyproject.toml and below docs/. In each, from top to bottom:

- A `python` block is executed; the blocks of a document share one namespace.
- `<!-- docs: output -->` before a `text` block: it is what the Python block above printed.
- A `console` block's `$ deskgym ...` commands are run; what is shown below each is its output.
  Commands that start with another word are not run.
- `<!-- docs: exit N -->` before a `console` block: its last command fails with that status.
- `<!-- docs: skip: reason -->` before a block: it is not run, and Python is only compiled.
- `<!-- docs: help COMMAND -->` to `<!-- docs: end -->` holds that command's help.
- `<!-- docs: generate module:function -->` to `<!-- docs: end -->` holds what it returns.

A line `...` in an output stands for any lines. Relative links and anchors must lead somewhere.
A document's Python and commands run in one temporary folder, which is also their HOME.
"""

import argparse
import contextlib
import difflib
import importlib
import io
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import traceback
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
COMMAND_TIMEOUT_S = 300
DIRECTIVE = re.compile(r"<!--\s*docs:\s*(\w+):?\s*(.*?)\s*-->", re.DOTALL)
REGIONS = ("help", "generate")
MODIFIERS = ("skip", "output", "exit")


class Failure(Exception):
    """What a document asks for cannot be done; the message says why."""


@dataclass(frozen=True)
class Problem:
    """Something that a person has to correct; `line` counts from 1."""

    line: int
    message: str


@dataclass(frozen=True)
class Edit:
    """Lines `start` to `stop` (from 0, exclusive) that should read otherwise."""

    start: int
    stop: int
    lines: list[str]


@dataclass
class Report:
    """What was found in one document."""

    name: str
    text: str
    problems: list[Problem] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    @property
    def corrected(self) -> str:
        """The document as it should read."""
        lines = self.text.splitlines()
        for edit in reversed(self.edits):
            lines[edit.start : edit.stop] = edit.lines
        return "\n".join(lines) + "\n"

    def explain(self) -> str:
        """Every problem with its line, then the differences as a unified diff."""
        notes = [f"{self.name}:{problem.line}: {problem.message}" for problem in self.problems]
        notes += [f"{self.name}:{edit.start + 1}: not what is produced now" for edit in self.edits]
        shown, real = self.text.splitlines(), self.corrected.splitlines()
        notes += difflib.unified_diff(shown, real, self.name, f"{self.name} (now)", "", "", 2, "")
        return "\n".join(notes)


def tidy(output: str) -> list[str]:
    """The lines of an output without trailing blanks."""
    return [line.rstrip() for line in output.rstrip().splitlines()]


def matches(shown: Sequence[str], real: Sequence[str]) -> bool:
    """Whether the shown lines describe the real ones, `...` standing for any lines."""
    wild = r"(?:[^\n]*\n)*"
    pattern = "".join(
        wild if line.strip() == "..." else re.escape(line.rstrip()) + "\n" for line in shown
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in real)) is not None


@contextlib.contextmanager
def surroundings(folder: Path, commands: Path) -> Iterator[None]:
    """The working folder and environment that examples run in."""
    before = dict(os.environ)
    path = f"{commands}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb", PYTHONUTF8="1")
    os.environ.update(HOME=str(folder), PATH=path)
    os.environ.pop("FORCE_COLOR", None)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run(command: str) -> tuple[int, list[str]]:
    """The exit status of a shell command, and the lines that it printed."""
    done = subprocess.run(
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=COMMAND_TIMEOUT_S,
        encoding="utf-8",
    )
    return done.returncode, tidy(done.stdout)


def help_of(command: str) -> list[str]:
    """A command's help as a Markdown block."""
    status, output = run(shlex.join(["deskgym", *shlex.split(command), "--help"]))
    if status:
        raise Failure("\n".join([f"the help exits with {status}:", *output]))
    return ["```text", *tidy("\n".join(output).lstrip("\n")), "```"]


def generated(target: str) -> list[str]:
    """The Markdown lines that `module:function` returns."""
    module, _, function = target.partition(":")
    try:
        text: object = getattr(importlib.import_module(module), function)()
    except Exception as error:
        raise Failure(f"{target} raises {error!r}") from error
    if not isinstance(text, str):
        raise Failure(f"{target} returns no text")
    return ["", *tidy(text.strip("\n")), ""]


class Examination:
    """One pass over a document, from top to bottom, that runs what it shows."""

    def __init__(self, path: Path, report: Report) -> None:
        self.path = path
        self.report = report
        self.lines = report.text.splitlines()
        self.module = types.ModuleType("example")
        self.printed: str | None = None
        self.modifiers: dict[str, str] = {}
        self.region: tuple[int, str, str] | None = None

    def examine(self) -> None:
        """Fills the report."""
        tokens = [token for token in parse(self.report.text) if token.type != "inline"]
        line = 0
        for token in tokens:
            line = token.map[0] if token.map else line
            try:
                self.visit(token, line)
            except Failure as failure:
                self.problem(line, str(failure))
            except subprocess.TimeoutExpired:
                self.problem(line, f"still running after {COMMAND_TIMEOUT_S} seconds")
        if self.region:
            self.problem(self.region[0], f"docs: {self.region[1]} has no docs: end")
        self.unused(line)

    def problem(self, line: int, message: str) -> None:
        self.report.problems.append(Problem(line + 1, message))

    def visit(self, token: Token, line: int) -> None:
        directive = DIRECTIVE.fullmatch(token.content.strip())
        if token.type == "html_block" and directive:
            self.directive(directive[1], directive[2], line)
        elif self.region:
            return  # What stands in a region is written, not run.
        elif token.type == "fence":
            self.block(token, line)
        else:
            self.unused(line)

    def unused(self, line: int) -> None:
        if self.modifiers:
            words = ", ".join(self.modifiers)
            self.modifiers = {}
            self.problem(line, f"docs: {words} stands before no block that it applies to")

    def directive(self, word: str, argument: str, line: int) -> None:
        if word == "end":
            if not self.region:
                raise Failure("docs: end without a beginning")
            start, kind, target = self.region
            self.region = None
            wanted = help_of(target) if kind == "help" else generated(target)
            self.compare(start + 1, line, wanted)
        elif self.region:
            raise Failure(f"docs: {word} inside docs: {self.region[1]}")
        elif word in REGIONS:
            self.unused(line)
            self.region = (line, word, argument)
        elif word not in MODIFIERS:
            raise Failure(f"docs: {word} is unknown")
        elif word == "skip" and not argument:
            raise Failure("docs: skip needs a reason")
        elif word == "exit" and not argument.isdecimal():
            raise Failure("docs: exit needs a status")
        else:
            self.modifiers[word] = argument

    def compare(self, start: int, stop: int, wanted: list[str], indent: str = "") -> None:
        shown = [line.removeprefix(indent) for line in self.lines[start:stop]]
        if not matches(shown, wanted):
            lines = [textwrap.indent(line, indent) for line in wanted]
            self.report.edits.append(Edit(start, stop, lines))

    def block(self, token: Token, line: int) -> None:
        opening = self.lines[line]
        indent = " " * opening.index(token.markup)
        language = token.info.strip().split(" ")[0]
        start = line + 1
        stop = start + token.content.count("\n")
        skipped = self.modifiers.pop("skip", None) is not None
        if language == "python":
            self.python(token.content, start, skipped)
        elif language == "console" and not skipped:
            self.console(start, stop, indent, int(self.modifiers.pop("exit", "0")))
        elif language == "text" and self.modifiers.pop("output", None) is not None:
            if self.printed is None:
                raise Failure("docs: output follows no Python block that ran")
            self.compare(start, stop, tidy(self.printed), indent)
            self.printed = None
        self.unused(line)

    def python(self, source: str, start: int, skipped: bool) -> None:
        """Runs a block; its line numbers are the document's."""
        self.printed = None
        printed = io.StringIO()
        try:
            code = compile("\n" * start + source, str(self.path), "exec")
            if skipped:
                return
            sys.modules["example"] = self.module
            with contextlib.redirect_stdout(printed):
                exec(code, self.module.__dict__)
        except SyntaxError as error:
            raise Failure(f"the block does not compile: {error}") from error
        except (Exception, SystemExit) as error:
            trace = error.__traceback__.tb_next if error.__traceback__ else None
            lines = traceback.format_exception(type(error), error, trace)
            raise Failure("the block raises\n" + "".join(lines).rstrip()) from error
        finally:
            sys.modules.pop("example", None)
        self.printed = printed.getvalue()

    def console(self, start: int, stop: int, indent: str, status_wanted: int) -> None:
        """Runs a block's commands and compares what is shown below each."""
        shown = [line.removeprefix(indent) for line in self.lines[start:stop]]
        prompts = [index for index, line in enumerate(shown) if line.startswith("$ ")]
        for prompt, after in zip(prompts, [*prompts[1:], len(shown)], strict=True):
            first = prompt + 1
            while shown[first - 1].endswith("\\") and first < after:
                first += 1
            command = "\n".join(shown[prompt:first]).removeprefix("$ ")
            if command.split()[0] != "deskgym":
                continue
            status, output = run(command)
            expected = status_wanted if after == len(shown) else 0
            if status != expected:
                text = [f"`{command}` exits with {status}, not {expected}:", *output]
                self.problem(start + prompt, "\n".join(text))
            gap = after - len(tidy("\n".join(shown[:after])))  # Blank lines before the next one.
            self.compare(start + first, start + max(first, after - gap), output, indent)


@cache
def parse(text: str) -> list[Token]:
    """The blocks of a Markdown text."""
    return MarkdownIt("commonmark").enable("table").parse(text)


def anchors(text: str) -> set[str]:
    """The anchors of a document: its headings, as GitHub names them, and explicit ids."""
    found = set(re.findall(r"<[^>]+\b(?:id|name)=[\"']([^\"']+)[\"']", text))
    seen: Counter[str] = Counter()
    tokens = parse(text)
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            children = inline.children or []
            parts = [child.content for child in children if child.type != "html_inline"]
            slug = re.sub(r"[^\w\- ]", "", "".join(parts).strip().lower()).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return found


def links(text: str) -> Iterator[tuple[int, str]]:
    """Each link and image of a document with the line (from 0) of its paragraph."""
    line = 0
    for token in parse(text):
        line = token.map[0] if token.map else line
        for part in [token, *(token.children or [])]:
            target = part.attrs.get("href", part.attrs.get("src"))
            if target is not None:
                yield line, str(target)
            if part.type in ("html_block", "html_inline"):
                for found in re.findall(r"\b(?:href|src)=[\"']([^\"']+)[\"']", part.content):
                    yield line, found


def broken(target: str, document: Path, root: Path) -> str | None:
    """Why a link leads nowhere; None for one that is fine or leads outside."""
    url = urlsplit(target)
    if url.scheme or url.netloc:
        return None
    start = root if url.path.startswith("/") else document.parent
    path = (start / unquote(url.path).lstrip("/")).resolve() if url.path else document
    if not path.is_relative_to(root):
        return f"{target} leads out of the repository"
    if not path.exists():
        return f"{target} does not exist"
    if not url.fragment or path.suffix != ".md":
        return None
    known = anchors(path.read_text("utf-8"))
    return None if unquote(url.fragment) in known else f"{target} names no heading"


def examine(document: Path, root: Path, commands: Path) -> Report:
    """Runs one document's examples with the `deskgym` found in `commands`."""
    text = document.read_text("utf-8")
    report = Report(document.relative_to(root).as_posix(), text)
    with tempfile.TemporaryDirectory() as folder, surroundings(Path(folder), commands):
        Examination(document, report).examine()
    for line, target in links(report.corrected):
        if reason := broken(target, document, root):
            report.problems.append(Problem(line + 1, reason))
    return report


def examine_apart(document: Path, root: Path) -> Report:
    """Examines a document in a fresh process, with the commands of this Python's environment."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as process:
        return process.submit(examine, document, root, Path(sys.executable).parent).result()


def documents(root: Path) -> list[Path]:
    """The documents of a repository, in order."""
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def check(report: Report) -> bool:
    """Prints what is wrong with a document; whether nothing is."""
    if report.problems or report.edits:
        print(report.explain())
    return not (report.problems or report.edits)


def write(report: Report, root: Path) -> bool:
    """Writes what can be, and prints what else is wrong; whether nothing is."""
    if report.edits:
        (root / report.name).write_text(report.corrected, "utf-8")
        print(f"{report.name}: written")
        report = Report(report.name, report.corrected, report.problems)
    return check(report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks or writes the documents; each is examined in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("action", choices=["check", "write"])
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository's folder")
    options = parser.parse_args(arguments)
    root: Path = options.root.resolve()
    sys.path.insert(0, str(root))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        reports = threads.map(lambda path: examine_apart(path, root), documents(root))
        fine = [
            check(report) if options.action == "check" else write(report, root)
            for report in reports
        ]
    print(f"{len(fine)} documents, {fine.count(False)} with problems")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
