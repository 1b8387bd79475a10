from __future__ import annotations

import warnings
from typing import Annotated, Any, Literal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from deskgym import Action, Desk, Result, Tool, Toolbox, call
from deskgym.argument import Cents, Id
from deskgym.desk import compact_json
from deskgym.dispatch import Dispatched, dispatch
from deskgym.errors import (
    ConstraintViolation,
    InvalidDefinition,
    StoreError,
    UnknownName,
)
from deskgym.tool import tool
from tests.stall import STALL, STOCK, err, finish, look, open_stall, pay, sell
from tests.store.shop import TIME, insert, open_world, refund

AMOUNT = "must be a whole number from 1 to 100000, as a JSON integer"
ID = "must be text of 1 to 64 characters without control characters"
TEXT = "must be text of 1 to 2000 characters without control characters"
BAD = "Nothing was done: "


def answer(name: str, arguments: object) -> Result:
    """What a fresh stall answers; it must not have changed."""
    with open_stall() as environment:
        observation = environment.step(Action(name, arguments))
        assert environment.bugs == []
        assert environment.changes() == ()
        return Result(*observation[:4])


def pay_with(**arguments: object) -> Result:
    return answer("pay", {"order_id": "O1", "amount_cents": 1, **arguments})


def refusal(**arguments: object) -> str:
    """The sentence that refuses the arguments, without its opening."""
    result = pay_with(**arguments)
    assert (result.ok, result.code) == (False, "invalid_arguments")
    return result.message.removeprefix(BAD)


class TestSchema:
    def test_it_comes_from_signature_and_docstring(self):
        assert pay.name == "pay"
        assert pay.description == "Pay for an order."
        assert pay.schema == {
            "type": "object",
            "additionalProperties": False,
            "required": ["order_id", "amount_cents"],
            "properties": {
                "order_id": {
                    "type": "string",
                    "description": "the order, by its number.",
                    "minLength": 1,
                    "maxLength": 64,
                },
                "amount_cents": {
                    "type": "integer",
                    "description": "how much.",
                    "minimum": 1,
                    "maximum": 100_000,
                },
                "note": {
                    "anyOf": [
                        {"type": "string", "minLength": 1, "maxLength": 2_000},
                        {"type": "null"},
                    ],
                    "default": None,
                    "description": "what to say.",
                },
            },
        }

    def test_a_tool_without_arguments_takes_an_empty_object(self):
        assert look.schema == {"type": "object", "properties": {}, "additionalProperties": False}
        assert look.parameters == ()

    def test_a_default_makes_an_argument_optional(self):
        (pieces,) = sell.parameters
        assert (pieces.name, pieces.required) == ("pieces", False)
        assert [parameter.required for parameter in pay.parameters] == [True, True, False]
        assert sell.schema["properties"]["pieces"] == {
            "default": 1, "description": "how many.", "minimum": 1, "maximum": 2,
            "type": "integer",
        }  # fmt: skip

    def test_each_interface_gets_the_same_schema(self):
        function = pay.openai()["function"]
        assert pay.openai()["type"] == "function"
        assert function == {
            "name": "pay", "description": "Pay for an order.", "parameters": pay.schema,
        }  # fmt: skip
        assert pay.anthropic()["input_schema"] == pay.mcp()["inputSchema"] == pay.schema

    @pytest.mark.parametrize(
        ("item", "reads", "destroys"), [(look, True, False), (sell, False, True)]
    )
    def test_mcp_is_told_what_writes(self, item: Tool, reads: bool, destroys: bool):
        hints = item.mcp()["annotations"]
        assert (hints["readOnlyHint"], hints["destructiveHint"]) == (reads, destroys)

    def test_mcp_is_told_what_can_be_called_again(self):
        def again(desk: Desk) -> Result:
            """Do it, once."""
            return Result(True, "done", "")

        written = tool("write", codes=("done",))(again)
        hints = [
            item.mcp()["annotations"]["idempotentHint"]
            for item in (look, written, tool("write", codes=("done",), idempotent=True)(again))
        ]
        assert hints == [True, False, True]

    def test_schemas_are_json(self):
        for item in STALL.toolbox.values():
            assert orjson.loads(orjson.dumps(item.schema)) == item.schema


class TestDeclarations:
    def declare(self, function: Any, kind: Any = "read") -> Tool:
        return tool(kind, codes=("done",))(function)

    def test_a_tool_needs_a_docstring(self):
        def bare(desk: Desk) -> Result:
            return Result(True, "done", "")

        with pytest.raises(InvalidDefinition, match="tool bare: a tool needs a docstring"):
            self.declare(bare)

    @pytest.mark.parametrize(
        "text", ["Do it.", "Do it.\n\nArgs:\n    other: what.", "Do it.\nArgs:\n    order_id: it."]
    )
    def test_an_argument_needs_a_sentence(self, text: str):
        def cancel(desk: Desk, order_id: Id) -> Result:
            return Result(True, "done", "")

        cancel.__doc__ = text
        with pytest.raises(
            InvalidDefinition, match="argument order_id needs a type and a sentence"
        ):
            self.declare(cancel)

    def test_an_argument_needs_a_type(self):
        def cancel(desk, order_id) -> Result:  # type: ignore[no-untyped-def]
            """Cancel.

            Args:
                order_id: the order.
            """
            return Result(True, "done", "")

        with pytest.raises(
            InvalidDefinition, match="argument order_id needs a type and a sentence"
        ):
            self.declare(cancel)

    @pytest.mark.parametrize("annotation", [Literal[1, 2], Literal["a", 1], Literal[1] | None])
    def test_a_closed_set_of_numbers_is_refused(self, annotation: Any):
        def take(desk: Desk, x: Any) -> Result:
            """Take.

            Args:
                x: it.
            """
            return Result(True, "done", "")

        take.__annotations__["x"] = annotation
        with pytest.raises(InvalidDefinition, match="closed set of argument x holds more than te"):
            self.declare(take)

    def test_a_kind_is_one_of_four(self):
        with pytest.raises(InvalidDefinition, match="one of read, write, talk, end, not update"):
            self.declare(look.function, "update")

    def test_two_tools_of_one_name_are_refused(self):
        with pytest.raises(InvalidDefinition, match="two tools of a suite share a name"):
            Toolbox(look, sell, look)

    def test_a_toolbox_keeps_its_order_and_names_the_nearest(self):
        box = Toolbox(sell, look)
        assert (list(box), box.names, len(box)) == (["sell", "look"], ("sell", "look"), 2)
        assert "look" in box
        assert "pay" not in box
        with pytest.raises(UnknownName, match=r"no tool 'lok'; did you mean 'look'\?"):
            box["lok"]


class TestArguments:
    @pytest.mark.parametrize("amount", [1, 100_000])
    def test_an_amount_within_its_limits_is_taken(self, amount: int):
        assert pay_with(amount_cents=amount).data["amount_cents"] == amount

    @pytest.mark.parametrize(
        "amount",
        [0, -1, 1.0, 1.5, 1e3, -0.0, "4800", "", True, False, None, float("nan"), float("inf"),
         100_001, 2**53, 10**30, [1], {"cents": 1}, {}, b"1"],
    )  # fmt: skip
    def test_any_other_amount_is_refused_with_what_is_right(self, amount: object):
        assert refusal(amount_cents=amount) == f"`amount_cents` {AMOUNT}."

    @pytest.mark.parametrize(
        ("order_id", "taken"),
        [
            ("S-410", "S-410"),
            ("  S-410\n", "S-410"),
            (410, "410"),
            (0, "0"),
            (-5, "-5"),
            (2**53, "9007199254740992"),
            ("é" * 64, "é" * 64),
            (" " + "x" * 64 + " ", "x" * 64),
            ("' OR 1=1 --", "' OR 1=1 --"),
        ],
    )
    def test_an_id_is_trimmed_text_and_an_integer_its_digits(self, order_id: object, taken: str):
        assert pay_with(order_id=order_id).data["order_id"] == taken

    @pytest.mark.parametrize(
        "order_id",
        ["", " ", "\n", "x" * 65, "a\x00b", "a\nb", "a\tb", "a\x7fb", "a\x85b", "\x1f",
         410.0, True, None, [], ["S-410"], {}, 10**30, "\ud800", "x" * 1_000_000],
        ids=lambda value: repr(value)[:20],
    )  # fmt: skip
    def test_any_other_id_is_refused_with_what_is_right(self, order_id: object):
        assert refusal(order_id=order_id) == f"`order_id` {ID}."

    @pytest.mark.parametrize(
        ("note", "taken"),
        [("two\nlines\tand\r\n more", "two\nlines\tand\r\n more"), (" a ", "a"), (None, None),
         ("x" * 2_000, "x" * 2_000)],
        ids=["lines", "trimmed", "none", "long"],
    )  # fmt: skip
    def test_a_text_keeps_its_lines(self, note: object, taken: object):
        assert pay_with(note=note).data["note"] == taken

    @pytest.mark.parametrize(
        "note",
        ["", "  ", "a\x00b", "a\x1bb", "a\x7f", "a\x9bb", "x" * 2_001, "x" * 1_000_000, "\udfff",
         5, 1.5, True, [], {}],
        ids=lambda value: repr(value)[:20],
    )  # fmt: skip
    def test_any_other_text_is_refused_with_what_is_right(self, note: object):
        assert refusal(note=note) == f"`note` {TEXT}."

    def test_a_missing_argument_is_named(self):
        result = answer("pay", {"order_id": "O1"})
        assert result.message == f"{BAD}`amount_cents` is missing; it {AMOUNT}."
        assert result.data == {"problems": {"amount_cents": f"is missing; it {AMOUNT}"}}

    def test_an_unknown_argument_is_named_with_what_is_taken(self):
        takes = "pay takes order_id, amount_cents, note"
        assert refusal(amount=1) == f"`amount` is not an argument; {takes}."

    def test_a_tool_without_arguments_says_so(self):
        result = answer("look", {"x": 1})
        assert result.message == f"{BAD}`x` is not an argument; look takes no arguments."

    def test_every_problem_is_named_at_once(self):
        result = answer("pay", {"order_id": "", "amount": 1})
        assert list(result.data["problems"]) == ["order_id", "amount_cents", "amount"]

    def test_a_long_name_is_cut(self):
        assert refusal(**{"x" * 1_000: 1}).startswith(f"`{'x' * 64}` is not an argument")

    @pytest.mark.parametrize("arguments", [None, [], ["O1", 1], "O1", 5, 1.5, True, b"{}"])
    def test_arguments_that_are_no_object_are_refused(self, arguments: object):
        result = answer("pay", arguments)
        expected = "`arguments` must be a JSON object."
        if arguments == b"{}":  # bytes are marked before they reach the tool
            expected = "`unsupported` is not an argument"
        assert result.message.startswith(BAD)
        assert expected in result.message

    @pytest.mark.parametrize("pieces", [0, 3, "1", 1.0, True, None, []])
    def test_a_range_of_numbers_is_named(self, pieces: object):
        result = answer("sell", {"pieces": pieces})
        sentence = "must be a whole number from 1 to 2, as a JSON integer"
        assert result.message == f"{BAD}`pieces` {sentence}."

    @pytest.mark.parametrize("fault", ["Raise", "raise ", "", 1, None])
    def test_a_closed_set_of_words_is_listed(self, fault: object):
        result = answer("err", {"fault": fault})
        assert result.message.startswith(f"{BAD}`fault` must be one of raise, undeclared code, ")

    @pytest.mark.parametrize("sure", [0, 1, "true", "yes", None])
    def test_a_truth_is_true_or_false(self, sure: object):
        assert answer("finish", {"sure": sure}).message == f"{BAD}`sure` must be true or false."

    @pytest.mark.parametrize(
        ("annotation", "value", "expected"),
        [
            (Literal["only"], "other", "must be only"),
            (int, "1", "must be a whole number, as a JSON integer"),
            (Annotated[int, Field(ge=1)], 0, "must be a whole number of at least 1, as a JSON"),
            (Cents | None, "1", AMOUNT),
            (str, 1, "must be text"),
            (float, "1", "must be a number"),
            (list[str], "a", "must be a JSON array"),
            (dict[str, int], "a", "must be a JSON value as in the schema"),
        ],
    )
    def test_any_type_of_argument_can_be_explained(
        self, annotation: Any, value: object, expected: str
    ):
        def take(desk: Desk, x: Any) -> Result:
            """Take.

            Args:
                x: it.
            """
            return Result(True, "done", "")

        take.__annotations__["x"] = annotation
        box = Toolbox(tool("read", codes=("done",))(take))
        world = open_world()
        desk = Desk(world.seat(), step=1, now=TIME, account=None)
        done = dispatch(box, world, desk, "take", {"x": value})
        assert done.result.message.startswith(f"{BAD}`x` {expected}")

    def test_an_unknown_tool_is_answered_with_the_known_ones(self):
        result = answer("loook", {})
        assert (result.ok, result.code) == (False, "unknown_tool")
        assert result.message.startswith("There is no such tool. The tools are: look, sell, pay")


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(["order_id", "amount_cents", "note", "pieces", "fault", "sure", "x", ""])
ENVIRONMENT = open_stall()


@given(
    name=st.sampled_from([*(n for n in STALL.toolbox if n not in ("oversell", "meddle")), "", "x"]),
    arguments=JSONISH | st.dictionaries(NAMES, JSONISH, max_size=4),
)
def test_no_arguments_raise_and_none_that_are_refused_change_the_world(
    name: str, arguments: object
):
    ENVIRONMENT.reset()
    observation = ENVIRONMENT.step(Action(name, arguments))
    orjson.loads(observation.to_json())
    assert ENVIRONMENT.bugs == []
    if not observation.ok:
        assert observation.code in ("invalid_arguments", "unknown_tool", "not_yet", "conflict")
        assert ENVIRONMENT.world.digest() == ENVIRONMENT.fixture.template.id


class TestDispatch:
    """What a tool does is kept whole, undone whole, or a bug that is kept apart."""

    def dispatch(self, name: str, **arguments: object) -> tuple[Dispatched, Desk]:
        world = open_world()
        desk = Desk(world.seat(), step=3, now=TIME, account="C1")
        done = dispatch(STALL.toolbox, world, desk, name, arguments)
        expected = [(4,)] if done.changes else [(5,)]
        assert world.rows(STOCK) == expected
        assert world.changes() == done.changes
        assert done.result_json == compact_json(done.result.to_dict())
        return done, desk

    def test_a_write_is_kept_with_its_changes_and_log(self):
        done, desk = self.dispatch("sell")
        assert done.result == Result(True, "sold", "Sold.", {"pieces": 1})
        assert (done.kind, done.arguments, done.bug) == ("write", {"pieces": 1}, None)
        assert [str(change) for change in done.changes] == ["change inventory V1"]
        assert desk.log_rows == [("env_message", (3, "agent", "selling"))]

    def test_a_read_changes_nothing(self):
        done, _ = self.dispatch("look")
        assert done.result.data == {"quantity": 5}
        assert (done.kind, done.changes) == ("read", ())

    def test_a_constraint_is_a_conflict_and_not_a_bug(self):
        done, desk = self.dispatch("oversell")
        assert done.result == Result(
            False, "conflict", "The store's records do not allow this; nothing was done."
        )
        assert (done.kind, done.bug, desk.log_rows) == ("write", None, [])

    @pytest.mark.parametrize(
        ("fault", "kind", "message"),
        [
            ("raise", ZeroDivisionError, "by mistake"),
            ("undeclared code", InvalidDefinition, "err answered other, which it does not declare"),
            ("undeclared refusal", InvalidDefinition, "err refused with other, undeclared"),
            ("not ok, yet changed", InvalidDefinition, "err changed rows, which a write must not"),
            ("no result", AttributeError, "code"),
            ("no JSON", TypeError, "not JSON serializable"),
            ("no JSON refused", TypeError, "not JSON serializable"),
            ("bad SQL swallowed", StoreError, "no such table: missing"),
        ],
    )
    def test_a_bug_is_undone_and_kept_apart(self, fault: str, kind: type[Exception], message: str):
        done, desk = self.dispatch("err", fault=fault)
        assert done.result == Result(
            False, "internal_error", "The tool failed, which is not your fault; nothing was done."
        )
        assert isinstance(done.bug, kind)
        assert not isinstance(done.bug, ConstraintViolation)
        assert message in str(done.bug)
        assert (done.arguments, desk.log_rows) == ({"fault": fault}, [])

    def test_a_read_that_writes_is_a_bug(self):
        done, _ = self.dispatch("meddle")
        assert done.result.code == "internal_error"
        assert str(done.bug) == "meddle changed rows, which a read must not"

    def test_a_refusal_carries_its_code_sentence_and_data(self):
        world = open_world()
        desk = Desk(world.seat(), step=1, now=TIME, account=None)
        world.atomic(lambda: desk.rows("UPDATE inventory SET quantity = 2"))
        done = dispatch(STALL.toolbox, world, desk, "sell", {"pieces": 2})
        assert done.result == Result(
            False, "sold_out", "The last lamp is not for sale.", {"left": 1}
        )
        assert (done.bug, done.changes, desk.log_rows) == (None, (), [])
        assert world.rows(STOCK) == [(2,)]

    def test_what_does_not_fit_reaches_no_tool(self):
        done, desk = self.dispatch("sell", pieces="one")
        assert (done.kind, done.arguments, desk.log_rows) == ("write", None, [])
        done, _ = self.dispatch("steal")
        assert (done.kind, done.arguments) == (None, None)

    def test_an_interrupt_passes_and_is_undone(self):
        def stop(desk: Desk) -> Result:
            """Sell, and be interrupted."""
            desk.rows("UPDATE inventory SET quantity = 0")
            raise KeyboardInterrupt

        world = open_world()
        desk = Desk(world.seat(), step=1, now=TIME, account=None)
        box = Toolbox(tool("write", codes=("done",))(stop))
        with pytest.raises(KeyboardInterrupt):
            dispatch(box, world, desk, "stop", {})
        assert world.rows(STOCK) == [(5,)]


class TestDesk:
    @pytest.fixture
    def desk(self) -> Desk:
        return Desk(open_world().seat(), step=4, now=TIME, account="C1")

    def test_it_reads_rows_records_and_values(self, desk: Desk):
        sql = "SELECT id, name FROM customers WHERE id >= ? ORDER BY id"
        assert desk.rows(sql, "C1") == [("C1", "Ada"), ("C2", "Ben")]
        assert desk.records(sql, "C2") == [{"id": "C2", "name": "Ben"}]
        assert desk.record(sql, "C1") == {"id": "C1", "name": "Ada"}
        assert desk.value(sql, "C1") == "C1"
        assert desk.record(sql, "C9") is None
        assert desk.value(sql, "C9") is None
        assert desk.value("SELECT name FROM customers WHERE id = :id", id="C2") == "Ben"

    def test_ids_count_up_from_the_highest(self):
        world = open_world()
        desk = Desk(world.seat(), step=1, now=TIME, account=None)
        assert desk.next_id("refunds", "REF-") == "REF-000001"
        insert(world, "refunds", refund("REF-000009", 1))
        assert desk.next_id("refunds", "REF-") == "REF-000010"

    def test_a_log_row_starts_with_the_step(self, desk: Desk):
        desk.log("env_listed", "V1")
        assert desk.log_rows == [("env_listed", (4, "V1"))]


def test_declaring_tools_warns_of_nothing():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for item in (look, sell, pay, err, finish):
            tool(item.kind, codes=item.codes)(item.function)
    assert caught == []


def test_call_takes_arguments_of_any_name():
    assert call("t", tool=1, self=2) == Action("t", {"tool": 1, "self": 2})
