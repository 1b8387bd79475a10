import subprocess
import sys
from pathlib import Path

import pytest

from tools import docs

DESKGYM = """#!/bin/sh
case "$1" in
  say) shift; printf '%s\\n' "$@" ;;
  save) echo kept > note.txt ;;
  show) cat note.txt ;;
  fail) echo 'it failed' >&2; exit 2 ;;
  greet) echo "Usage: deskgym greet, $COLUMNS columns" ;;
  *) echo "Usage: deskgym" ;;
esac
"""


class Project:
    """A repository with one document and a `deskgym` of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.commands = root / "bin"
        self.root.mkdir()
        self.commands.mkdir()
        command = self.commands / "deskgym"
        command.write_text(DESKGYM)
        command.chmod(0o755)

    def examine(self, *lines: str) -> docs.Report:
        document = self.root / "README.md"
        document.write_text("\n".join(lines) + "\n")
        return docs.examine(document, self.root, self.commands)

    def assert_fine(self, *lines: str) -> None:
        report = self.examine(*lines)
        assert report.explain() == ""
        assert docs.check(report)

    def assert_corrected(self, shown: list[str], real: list[str]) -> None:
        """The shown lines are refused; once written they are the real ones, and fine."""
        report = self.examine(*shown)
        assert not docs.check(report)
        assert report.problems == []
        assert report.corrected.splitlines() == real
        assert docs.write(report, self.root)
        assert (self.root / "README.md").read_text() == "\n".join(real) + "\n"
        self.assert_fine(*real)

    def problem(self, *lines: str) -> docs.Problem:
        """The one problem of a document that nothing can be written for."""
        report = self.examine(*lines)
        assert not docs.check(report)
        assert report.edits == []
        (problem,) = report.problems
        return problem


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def python(*lines: str) -> list[str]:
    return ["```python", *lines, "```"]


def output(*lines: str) -> list[str]:
    return ["", "<!-- docs: output -->", "```text", *lines, "```"]


def console(*lines: str) -> list[str]:
    return ["```console", *lines, "```"]


def test_blocks_of_a_document_share_a_namespace(project: Project) -> None:
    project.assert_fine(*python("a = 20"), "", "then", "", *python("print(a + 1)"), *output("21"))


def test_documents_do_not_share_a_namespace(project: Project) -> None:
    project.assert_fine(*python("a = 20"))
    assert "NameError" in project.problem(*python("a")).message


def test_a_block_that_raises_is_a_problem_at_its_line(project: Project) -> None:
    problem = project.problem("# Title", "", *python("a = 1", "a / 0"))
    assert problem.line == 3
    assert "ZeroDivisionError" in problem.message
    assert 'README.md", line 5' in problem.message


def test_a_block_that_exits_is_a_problem(project: Project) -> None:
    assert "SystemExit" in project.problem(*python("raise SystemExit(0)")).message


def test_a_skipped_block_is_not_run(project: Project) -> None:
    project.assert_fine("<!-- docs: skip: needs a key -->", *python("a / 0"))


def test_a_skipped_block_is_compiled(project: Project) -> None:
    problem = project.problem("<!-- docs: skip: needs a key -->", *python("a ="))
    assert "does not compile" in problem.message


def test_a_skip_needs_a_reason(project: Project) -> None:
    assert "needs a reason" in project.problem("<!-- docs: skip -->", *python("1")).message


def test_an_output_that_differs_is_refused_and_corrected(project: Project) -> None:
    block = python("print('real')", "print('lines')")
    project.assert_corrected([*block, *output("shown")], [*block, *output("real", "lines")])


def test_a_difference_is_explained_with_file_line_and_diff(project: Project) -> None:
    explained = project.examine(*python("print(2)"), *output("1")).explain()
    assert "README.md:7: " in explained
    assert "--- README.md" in explained
    assert "\n-1\n+2\n" in explained


def test_an_ellipsis_stands_for_any_lines(project: Project) -> None:
    block = python("for n in range(9):", "    print(n)")
    project.assert_fine(*block, *output("0", "...", "7", "...", "8", "..."))
    assert project.examine(*block, *output("0", "...", "9")).edits
    assert project.examine(*block, *output("1", "...")).edits


def test_an_output_in_a_list_keeps_its_indent(project: Project) -> None:
    item = ["- An item:", "", *("  " + line for line in python("print('x')"))]
    shown, real = ([*item, *("  " + line for line in output(word)[1:])] for word in "yx")
    project.assert_corrected(shown, real)


def test_an_output_needs_a_block_that_ran(project: Project) -> None:
    assert "no Python block" in project.problem(*output("1")).message
    skipped = ["<!-- docs: skip: why -->", *python("print(1)")]
    assert "no Python block" in project.problem(*skipped, *output("1")).message


def test_a_comment_that_applies_to_nothing_is_a_problem(project: Project) -> None:
    lines = [*python("print(1)"), "<!-- docs: output -->", "", "Prose.", "", "```text", "1", "```"]
    assert "applies to" in project.problem(*lines).message
    assert "applies to" in project.problem("<!-- docs: skip: why -->").message


def test_an_unknown_comment_is_a_problem(project: Project) -> None:
    assert "unknown" in project.problem("<!-- docs: ouptut -->").message


def test_a_command_whose_output_is_shown_is_fine(project: Project) -> None:
    project.assert_fine(*console("$ deskgym say one two", "one", "two", "", "$ deskgym say a", "a"))


def test_a_command_whose_output_differs_is_refused_and_corrected(project: Project) -> None:
    commands = ["$ deskgym say \\", "    one", "{}", "", "$ deskgym say two", "two"]
    shown, real = (console(*(line.format(word) for line in commands)) for word in ("1", "one"))
    project.assert_corrected(shown, real)


def test_a_command_without_its_output_is_refused_and_corrected(project: Project) -> None:
    project.assert_corrected(console("$ deskgym say a"), console("$ deskgym say a", "a"))


def test_commands_and_python_of_a_document_share_a_folder_outside(project: Project) -> None:
    read = python("from pathlib import Path", "print(Path('note.txt').read_text())")
    save = console("$ deskgym save", "$ deskgym show | tr a-z A-Z", "KEPT")
    project.assert_fine(*save, "", *read, *output("kept"))
    assert [path.name for path in project.root.iterdir()] == ["README.md"]


def test_a_command_that_fails_is_a_problem(project: Project) -> None:
    problem = project.problem(*console("$ deskgym say 1", "1", "$ deskgym fail", "it failed"))
    assert problem.line == 4
    assert "exits with 2, not 0" in problem.message


def test_a_command_that_is_said_to_fail_is_fine(project: Project) -> None:
    failing = console("$ deskgym say 1", "1", "$ deskgym fail", "it failed")
    project.assert_fine("<!-- docs: exit 2 -->", *failing)


def test_a_command_that_is_said_to_fail_and_does_not_is_a_problem(project: Project) -> None:
    problem = project.problem("<!-- docs: exit 2 -->", *console("$ deskgym say 1", "1"))
    assert "exits with 0, not 2" in problem.message


def test_other_commands_are_not_run(project: Project) -> None:
    project.assert_fine(*console("$ false", "anything", "$ deskgym say 1", "1", "$ false"))
    project.assert_fine("```bash", "false", "```")


def test_a_skipped_command_is_not_run(project: Project) -> None:
    project.assert_fine("<!-- docs: skip: serves for ever -->", *console("$ deskgym fail", "up"))


def test_a_command_that_does_not_end_is_a_problem(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.commands / "deskgym").write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    monkeypatch.setattr(docs, "COMMAND_TIMEOUT_S", 0.1)
    assert "still running" in project.problem(*console("$ deskgym")).message


def test_help_is_written_and_then_fine(project: Project) -> None:
    begin, end = "<!-- docs: help greet -->", "<!-- docs: end -->"
    block = ["```text", "Usage: deskgym greet, 100 columns", "```"]
    project.assert_corrected([begin, end], [begin, *block, end])
    project.assert_corrected([begin, "```text", "old", "```", end], [begin, *block, end])


def test_help_of_no_command_is_the_programs(project: Project) -> None:
    region = ["<!-- docs: help -->", "```text", "Usage: deskgym", "```", "<!-- docs: end -->"]
    project.assert_fine(*region)


def test_help_that_fails_is_a_problem(project: Project) -> None:
    problem = project.problem("<!-- docs: help fail -->", "<!-- docs: end -->")
    assert "exits with 2" in problem.message


def test_generated_text_is_written_and_then_fine(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "def table():\n    return '| a |\\n|---|'\n"
    (project.root / "catalogue_of_tools.py").write_text(source)
    monkeypatch.syspath_prepend(project.root)
    begin, end = "<!-- docs: generate catalogue_of_tools:table -->", "<!-- docs: end -->"
    real = [begin, "", "| a |", "|---|", "", end]
    project.assert_corrected([begin, "", "| b |", "", end], real)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("no_such_module:table", "ModuleNotFoundError"),
        ("os:no_such_function", "AttributeError"),
        ("os:getpid", "returns no text"),
    ],
)
def test_text_that_cannot_be_generated_is_a_problem(
    project: Project, target: str, reason: str
) -> None:
    problem = project.problem(f"<!-- docs: generate {target} -->", "<!-- docs: end -->")
    assert reason in problem.message


def test_a_region_without_its_other_end_is_a_problem(project: Project) -> None:
    assert "has no docs: end" in project.problem("<!-- docs: help -->").message
    assert "without a beginning" in project.problem("<!-- docs: end -->").message


def test_comments_shown_in_a_block_are_only_shown(project: Project) -> None:
    project.assert_fine("```markdown", "<!-- docs: nonsense -->", "```")


def test_links_that_lead_somewhere_are_fine(project: Project) -> None:
    (project.root / "docs").mkdir()
    (project.root / "docs/guide.md").write_text('# A "guide": `x_y`\n\n# Twice\n\n# Twice\n')
    project.assert_fine(
        "# Here",
        "",
        "[a](docs/guide.md#a-guide-x_y) [b](docs/guide.md#twice-1) [c](#here) [d](docs) [e][ref]",
        "![f](docs/guide.md) [g](https://example.com/nothing) <a id='spot'></a> [h](#spot)",
        "",
        "[ref]: README.md",
    )


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("[a](missing.md)", "does not exist"),
        ("![a](missing.png)", "does not exist"),
        ("<img src='missing.png'>", "does not exist"),
        ("[a](#missing)", "names no heading"),
        ("[a](README.md#here-1)", "names no heading"),
        ("[a](../bin)", "out of the repository"),
    ],
)
def test_a_link_that_leads_nowhere_is_a_problem(project: Project, link: str, reason: str) -> None:
    problem = project.problem("# Here", "", link)
    assert problem.line == 3
    assert reason in problem.message


def test_the_program_reads_all_documents_and_tells_by_its_status(tmp_path: Path) -> None:
    def run(action: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, docs.__file__, action, "--root", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True)

    (tmp_path / "docs/deep").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# Fine\n")
    wrong = tmp_path / "docs/deep/wrong.md"
    wrong.write_text("\n".join([*python("print(1)"), *output("2"), ""]))

    checked = run("check")
    assert checked.returncode == 1
    assert "docs/deep/wrong.md:7: " in checked.stdout
    assert "2 documents, 1 with problems" in checked.stdout

    assert run("write").returncode == 0
    assert wrong.read_text() == "\n".join([*python("print(1)"), *output("1"), ""])
    assert run("check").returncode == 0
