"""What model calls cost, by hand."""

from __future__ import annotations

import pytest

from deskgym.errors import UsageError
from deskgym.models import Meter, ModelCall, Prices, Usage


def test_a_cost_is_tokens_by_their_prices_for_a_million() -> None:
    # 1,000 of 10,000 prompt tokens come from the cache: 9,000 x 2 + 1,000 x 0.5 + 500 x 8 = 22,500.
    assert Prices(2, 8, 0.5).cost_usd(Usage(10_000, 500, 1_000)) == pytest.approx(0.0225)
    # Without a price of its own, what is cached costs as the rest: 10,000 x 2 + 500 x 8 = 24,000.
    assert Prices(2, 8).cost_usd(Usage(10_000, 500, 1_000)) == pytest.approx(0.024)


def test_a_cost_that_is_not_known_is_none_and_never_0() -> None:
    assert Prices(2, 8).cost_usd(Usage(None, 500)) is None
    assert Meter(calls=[ModelCall(Usage(10, 10), 1.0)]).cost_usd is None
    meter = Meter(Prices(2, 8), [ModelCall(Usage(10, 10), 1.0), ModelCall(Usage(), 1.0)])
    assert meter.usage == Usage(None, None, None)
    assert meter.cost_usd is None


def test_where_no_model_was_asked_nothing_was_spent() -> None:
    assert Meter().cost_usd == 0


def test_calls_without_a_reply_count_as_attempts_and_not_as_tokens() -> None:
    failed = ModelCall(None, 2.0, 3, ("timeout", "timeout", "timeout"))
    meter = Meter(Prices(1, 1), [ModelCall(Usage(10, 5, 2), 1.0, 2, ("server_error",)), failed])
    assert meter.usage == Usage(10, 5, 2)
    assert meter.retries == 3
    assert meter.to_dict() == {
        "calls": 2, "retries": 3, "prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 2,
        "cost_usd": pytest.approx(15e-6), "latency_s": 3.0,
    }  # fmt: skip


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_price_is_a_number_of_at_least_0(price: float) -> None:
    with pytest.raises(UsageError, match="price"):
        Prices(price, 1)
