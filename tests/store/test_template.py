from __future__ import annotations

import pytest

from deskgym.errors import ConstraintViolation, InvalidDefinition, UnknownName
from deskgym.store import EMPTY, Base, Engine, Rows, Template
from deskgym.store.digest import as_text
from tests.store.shop import SHOP


def make(kind: str, rows: Rows) -> Base | Template:
    return Base("shop", rows) if kind == "base" else Template(rows)


@pytest.mark.parametrize("kind", ["base", "template"])
class TestARowThatIsDeclaredWrongly:
    def test_a_row_of_the_wrong_width_is_named(self, kind: str):
        with pytest.raises(InvalidDefinition) as caught:
            make(kind, {"settings": [("a", "1"), ("b",)]})
        assert str(caught.value) == (
            "settings: a row has 1 values where the table has 2 (name, value): ('b',)"
        )

    def test_two_rows_with_one_key_are_named(self, kind: str):
        with pytest.raises(InvalidDefinition) as caught:
            make(kind, {"settings": [("a", "1"), ("b", "1"), ("b", "2")]})
        assert str(caught.value) == "settings: two rows share the key ('b',)"

    def test_a_key_of_two_columns_is_compared_whole(self, kind: str):
        rows = [("S1", "I1", 1), ("S1", "I2", 1), ("S2", "I1", 1)]
        assert make(kind, {"shipment_items": rows}).rows == {"shipment_items": tuple(rows)}
        with pytest.raises(InvalidDefinition, match=r"share the key \('S1', 'I1'\)"):
            make(kind, {"shipment_items": [*rows, ("S1", "I1", 2)]})

    def test_an_unknown_table_is_named_with_the_nearest(self, kind: str):
        with pytest.raises(UnknownName, match=r"no table 'setting'; did you mean 'settings'\?"):
            make(kind, {"setting": [("a", "1")]})

    def test_tables_are_put_into_the_schemas_order_and_empty_ones_left_out(self, kind: str):
        rows: Rows = {"orders": [], "products": [("P1", "", "", "")], "settings": [("a", "1")]}
        assert list(make(kind, rows).rows) == ["settings", "products"]


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("inventory", ("V1", -1, 0, 0, 0, 0)),
        ("inventory", ("V9", 1, 0, 0, 0, 0)),
        ("settings", ("a", None)),
        ("policies", ("a", 1.5, "")),
        ("policies", ("a", 2**63, "")),
        ("settings", ("a", object())),
        ("settings", ("a", "\ud800")),
    ],
)
@pytest.mark.parametrize("kind", ["base", "template"])
def test_a_row_that_the_schema_does_not_allow_is_named_when_it_is_loaded(
    kind: str, table: str, row: tuple[object, ...]
):
    rows = {**SHOP, table: [row]}
    template = Template({}, Base("shop", rows)) if kind == "base" else Template(rows)
    with pytest.raises(ConstraintViolation, match=rf"rows do not fit before\.{table}: "):
        Engine(1).open(template).snapshot()


BASE = Base("shop", {"settings": [("a", "1"), ("b", "2")], "policies": [("days", 30, "days")]})


class TestATemplateOnABase:
    def test_its_rows_join_those_of_the_base(self):
        template = Template({"settings": [("c", "3")]}, BASE)
        world = Engine(1).open(template)
        expected = [("a", "1"), ("b", "2"), ("c", "3")]
        assert world.rows("SELECT * FROM settings") == expected
        assert world.rows("SELECT * FROM before.settings") == expected
        assert world.rows("SELECT * FROM policies") == [("days", 30, "days")]

    def test_a_row_with_a_key_of_the_base_stands_in_its_place(self):
        template = Template({"settings": [("b", "other")]}, BASE)
        world = Engine(1).open(template)
        assert world.rows("SELECT * FROM settings") == [("a", "1"), ("b", "other")]
        assert world.rows("SELECT * FROM before.settings") == [("a", "1"), ("b", "other")]
        assert world.changes() == ()

    @pytest.mark.parametrize(
        ("own", "whole"),
        [
            ([], [("a", "1"), ("b", "2")]),
            ([("c", "3")], [("a", "1"), ("b", "2"), ("c", "3")]),
            ([("b", "other")], [("a", "1"), ("b", "other")]),
            ([("b", "2")], [("a", "1"), ("b", "2")]),
        ],
    )
    def test_its_digest_is_that_of_the_rows_however_they_are_split(
        self, own: list[tuple[object, ...]], whole: list[tuple[object, ...]]
    ):
        split = Template({"settings": own}, BASE)
        assert split.id == Template({"settings": whole, "policies": [("days", 30, "days")]}).id
        assert split.id == Engine(1).open(split).digest()

    def test_the_base_is_as_it_was_under_the_next_template(self):
        engine = Engine(slots_max=1)
        engine.open(Template({"settings": [("b", "other")]}, BASE)).snapshot()
        world = engine.open(Template({}, BASE))
        assert world.rows("SELECT * FROM settings") == [("a", "1"), ("b", "2")]
        assert world.template.id == as_text(BASE.digest % 2**256)

    def test_without_a_base_it_stands_on_the_empty_one(self):
        assert Template({}).base is EMPTY
        assert not EMPTY.rows
