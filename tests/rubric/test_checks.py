import pytest

from deskgym.errors import InvalidDefinition
from deskgym.rubric.check import Check
from deskgym.rubric.checks import CheckCase, CheckRubric, Finding, Required
from deskgym.rubric.permit import Permit, only_permitted
from deskgym.store import Engine, Template, World

RUBRIC = CheckRubric("test.v1")
ROW = Check("row", "there is no row", "SELECT 'm' AS subject, 3 AS count WHERE :bad = 1")


def rule(name: str, bad: int):
    return Check(name, f"{name} is so", ROW.sql).bind(bad=bad)


@pytest.fixture
def world():
    engine = Engine(1)
    rows = {
        "products": [("P-1", "Mug", "mug", ""), ("P-2", "Pot", "pot", "")],
        "policies": [("days", 30, "days")],
    }
    yield engine.open(Template(rows))
    engine.close()


def score(world: World, *, first: int = 0, second: int = 0, third: int = 0):
    case = CheckCase(
        (Required(rule("first", first), 7_500), Required(rule("second", second), 2_500)),
        (rule("third", third),),
    )
    return RUBRIC.score(world, case)


@pytest.mark.parametrize(
    ("first", "second", "third", "reward", "verdict"),
    [
        (0, 0, 0, 1, "resolved"),
        (0, 1, 0, 0.75, "partial"),
        (1, 0, 0, 0.25, "partial"),
        (1, 1, 0, 0, "not_resolved"),
        (0, 0, 1, 0, "not_resolved"),
        (1, 1, 1, 0, "not_resolved"),
    ],
)
def test_the_reward_is_the_weights_that_hold_unless_something_forbidden(
    world: World, first: int, second: int, third: int, reward: float, verdict: str
):
    result = score(world, first=first, second=second, third=third)
    assert (result.reward, result.verdict, result.rubric) == (reward, verdict, "test.v1")


def test_a_score_lists_every_check_with_its_reason(world: World):
    result = score(world, second=1)
    assert result.explain().splitlines() == [
        "reward +0.75 by test.v1: partial",
        "  first (required, 0.75): passed: first is so",
        "  second (required, 0.25): failed: subject m, count 3",
        "  third (forbidden): passed: third is so",
    ]
    assert result.breakdown.reasons() == ["second: subject m, count 3"]
    assert result.breakdown.brief() == {
        "checks": {"first": True, "second": False, "third": True},
        "reasons": ["second: subject m, count 3"],
    }
    assert result.to_dict()["breakdown"]["checks"][1] == {
        "name": "second",
        "kind": "required",
        "sentence": "second is so",
        "weight": 0.25,
        "holds": False,
        "reason": "subject m, count 3",
        "rows": [{"subject": "m", "count": 3}],
    }


@pytest.mark.parametrize("points", [(5_000, 4_999), (10_000, 0), (12_000, -2_000), ()])
def test_weights_add_up_to_one(points: tuple[int, ...]):
    required = tuple(Required(rule(f"r{at}", 0), weight) for at, weight in enumerate(points))
    with pytest.raises(InvalidDefinition, match="10000 points"):
        CheckCase(required, ())


def test_two_checks_of_a_case_have_two_names():
    with pytest.raises(InvalidDefinition, match="share a name"):
        CheckCase((Required(rule("same", 0), 10_000),), (rule("same", 0),))


def test_a_permit_lets_rows_and_columns_through(world: World):
    check = only_permitted(
        (
            Permit("products", "change", "t.id = :id", ("note",)),
            Permit("products", "add", "t.product_type = 'mug'"),
        )
    ).bind(id="P-1")

    def unexpected(*statements: str) -> list[str]:
        world.reset()
        for statement in statements:
            world.atomic(lambda sql=statement: world.rows(sql))
        world.settle()
        return [f"{row['operation']} {row['row_key']}" for row in check.breaches(world)]

    assert unexpected() == []
    assert unexpected("UPDATE products SET note = 'x' WHERE id = 'P-1'") == []
    assert unexpected("UPDATE products SET note = 'x' WHERE id = 'P-2'") == ["change P-2"]
    assert unexpected("UPDATE products SET note = 'x', name = 'mug' WHERE id = 'P-1'") == [
        "change P-1"
    ]
    assert unexpected("INSERT INTO products VALUES ('P-3', 'x', 'mug', '')") == []
    assert unexpected("INSERT INTO products VALUES ('P-3', 'x', 'pot', '')") == ["add P-3"]
    assert unexpected("DELETE FROM products WHERE id = 'P-1'") == ["remove P-1"]
    assert unexpected("UPDATE policies SET value = 31") == ["change days"]
    assert only_permitted(()).bind().breaches(world) != []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"problem": "no reply names the order", "value": "1013"},
         "no reply names the order: 1013"),
        ({"problem": "a reply denies what was done: refund", "value": "refund"},
         "a reply denies what was done: refund"),
        ({"problem": "no reply", "value": ""}, "no reply"),
        ({"what": "pieces replaced", "subject": "1013-1", "due": 2, "found": 0},
         "pieces replaced: 1013-1, due 2, found 0"),
        ({"order_id": "1013", "due_cents": 5}, "order id 1013, due cents 5"),
    ],
)  # fmt: skip
def test_a_reason_reads_as_a_sentence(row: dict[str, object], reason: str):
    check = Check("any", "any", "SELECT 1").bind()
    assert Finding(check, False, 1, (row,)).reason() == reason
