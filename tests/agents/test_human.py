"""A person at the terminal: a real one, of a pseudo-terminal, with the same tools and scoring."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

import deskgym
from deskgym.agents.human import value_of
from deskgym.recording import read
from deskgym.replay import replay

TIMEOUT_S = 60
DESKGYM = (sys.executable, "-c", "from deskgym.cli import main; main()")


class Terminal:
    """`deskgym` in a terminal of its own, read and typed into as a person does."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._main, side = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "COLUMNS": "100", "NO_COLOR": "1"}
        self.process = subprocess.Popen(
            [*DESKGYM, *arguments],
            stdin=side, stdout=side, stderr=side, cwd=folder, env=environment, close_fds=True,
        )  # fmt: skip
        os.close(side)
        self.shown = ""

    def expect(self, text: str) -> str:
        """Read until the text is shown; what was shown since the last one."""
        until = time.monotonic() + TIMEOUT_S
        while text not in self.shown:
            ready, _, _ = select.select([self._main], [], [], until - time.monotonic())
            assert ready, f"{text!r} was not shown:\n{self.shown}"
            self.shown += os.read(self._main, 65_536).decode(errors="replace")
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def type(self, line: str) -> None:
        os.write(self._main, f"{line}\n".encode())

    def close(self) -> int:
        """Read what is left, and wait for the end."""
        while True:
            try:
                part = os.read(self._main, 65_536)
            except OSError:  # the other side has closed
                break
            if not part:
                break
            self.shown += part.decode(errors="replace")
        os.close(self._main)
        return self.process.wait(TIMEOUT_S)


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    command = ("run", "service/damaged-lamp", "--agent", "human", "--out", "run.jsonl")
    return Terminal(tmp_path, *command)


def test_a_person_settles_a_case_by_forms_and_is_scored_as_anybody(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.expect("Look before you act")
    terminal.expect("The case")
    terminal.expect("> ")
    for line, expected in [
        ("1", "order_id"), ("S-410", "order_found"),
        ("search_inventory", "product_type"), ("", "size"), ("", "color"), ("", "> "),
        ("propose", "6 stock_notification"), ("2", "order_id"), ("S-410", "payment_id"),
        ("", "amount"),
        ("a lot", "must be a whole number"), ("", "item_id"), ("S-410-1", "sku"),
        ("LAMP-MOSS", "shipment_id"), ("", "proposal_accepted"),
        ("create_return", "order_id"), ("S-410", "item_id"), ("S-410-1", "reason"),
        ("cracked", "RET"),
    ]:  # fmt: skip
        terminal.type(line)
        shown = terminal.expect(expected)
    return_id = f"RET{shown.rpartition('RET')[2]}" + terminal.expect('"').rstrip('"')
    for line, expected in [
        ("Your new lamp is on its way.", "The customer has read it."),
        ("create_replacement", "order_id"), ("S-410", "item_id"), ("S-410-1", "replacement_sku"),
        ("LAMP-MOSS", "return_id"), (return_id, "> "),
        ("report", "claim"), ("replacement_created", "order_id"), ("S-410", "report_recorded"),
        ("close", "1.00"),
    ]:  # fmt: skip
        terminal.type(line)
        terminal.expect(expected)
    assert terminal.close() == 0
    (located,) = read(tmp_path / "run.jsonl")
    assert located.recording.reward == 1
    assert located.recording.header.agent == "human"
    assert replay(located.recording).difference is None


def test_a_person_can_look_give_up_a_form_and_leave(terminal: Terminal) -> None:
    terminal.expect("> ")
    for line, expected in [
        ("tools", "get_order"), ("policy", "Look before you act"), ("99", "There is no such tool"),
        ("get_order", "order_id"), ("!", "> "), ("get_order", "order_id"), ("", "must be text"),
        ("S-990", "order_not_found"), ("quit", "agent stopped"),
    ]:  # fmt: skip
        terminal.type(line)
        terminal.expect(expected)
    assert terminal.close() == 0


def test_the_end_of_the_input_is_the_end_of_the_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [*DESKGYM, "run", "backoffice/late-return", "--agent", "human"],
        input="read_policy\n", capture_output=True, text=True, cwd=tmp_path, timeout=TIMEOUT_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "agent stopped" in done.stdout


def test_what_is_typed_becomes_the_type_of_the_argument() -> None:
    propose = deskgym.load_suite("service").toolbox["propose"]
    parameters = {parameter.name: parameter for parameter in propose.parameters}
    assert value_of(parameters["remedy"], "1") == "refund"
    assert value_of(parameters["remedy"], "nothing") == "nothing"
    assert value_of(parameters["amount_cents"], "4800") == 4_800
    assert value_of(parameters["order_id"], "410") == "410"
    for name, typed in [("remedy", "0"), ("remedy", "gift"), ("amount_cents", "48.00"),
                        ("amount_cents", "true"), ("order_id", "")]:  # fmt: skip
        with pytest.raises(ValueError, match="must be"):
            value_of(parameters[name], typed)
