"""The statistics against cases worked by hand, and against chance."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations

import pytest

from deskgym.evaluate.report import pass_hats
from deskgym.evaluate.statistics import (
    clustered_mean,
    mean,
    pass_hat_k,
    percentile,
    t_cdf,
    t_quantile,
)


def test_a_clustered_interval_is_what_a_hand_works_out() -> None:
    # Mean 0.5; deviations add up to 1, -1 and 0 in the three clusters, so the sum of squares is 2.
    # Times 3/2 it is 3, and the error is sqrt(3) / 6. Student's t for 2 degrees is 4.30265.
    made = clustered_mean([[1, 1], [0, 0], [1, 0]])
    assert made.mean == 0.5
    assert made.standard_error == pytest.approx(math.sqrt(3) / 6)
    assert made.high == pytest.approx(0.5 + 4.30265 * math.sqrt(3) / 6, abs=1e-5)
    assert made.low == pytest.approx(0.5 - 4.30265 * math.sqrt(3) / 6, abs=1e-5)
    assert (made.count, made.clusters) == (6, 3)


def test_a_cluster_for_each_value_gives_the_ordinary_standard_error() -> None:
    # Deviations -1.5, -0.5, 0.5, 1.5: variance 5/3 with n - 1, error sqrt(5/3) / 2.
    made = clustered_mean([[1], [2], [3], [4]])
    assert made.mean == 2.5
    assert made.standard_error == pytest.approx(math.sqrt(5 / 3) / 2)


def test_clusters_of_several_sizes_weigh_by_their_values() -> None:
    # Mean 3/4; deviations add up to 3/4 and -3/4: (9/16 + 9/16) * 2 = 9/4, error 3/2 / 4.
    made = clustered_mean([[1, 1, 1], [0]])
    assert made.mean == 0.75
    assert made.standard_error == pytest.approx(3 / 8)


def test_one_cluster_has_a_mean_and_no_interval_and_none_has_neither() -> None:
    one = clustered_mean([[1, 0]])
    assert (one.mean, one.standard_error, one.low, one.high) == (0.5, None, None, None)
    assert clustered_mean([]).mean is None
    assert clustered_mean([[], []]).count == 0


def test_equal_values_have_an_interval_of_no_width() -> None:
    made = clustered_mean([[0.1, 0.1], [0.1], [0.1]])
    assert made.low == made.high == made.mean == pytest.approx(0.1)


def test_the_order_of_values_changes_no_bit() -> None:
    values = [0.1, 0.7, 0.2, 1.0, -0.4, 0.3333]
    shuffled = [-0.4, 1.0, 0.3333, 0.2, 0.7, 0.1]
    assert mean(values) == mean(shuffled)


@pytest.mark.parametrize(
    ("share", "degrees", "t"),
    [(0.975, 1, 12.7062), (0.975, 2, 4.3027), (0.975, 7, 2.3646), (0.95, 12, 1.7823),
     (0.995, 30, 2.7500), (0.975, 1000, 1.9623)],
)  # fmt: skip
def test_quantiles_are_those_of_the_printed_table(share: float, degrees: int, t: float) -> None:
    assert t_quantile(share, degrees) == pytest.approx(t, abs=5e-5)
    assert t_cdf(t, degrees) == pytest.approx(share, abs=1e-5)
    assert t_cdf(-t, degrees) == pytest.approx(1 - share, abs=1e-5)


def test_a_quantile_that_cannot_be_is_refused() -> None:
    for share, degrees in ((0.975, 0), (1.0, 3), (0.4, 3)):
        with pytest.raises(ValueError, match="no quantile"):
            t_quantile(share, degrees)


def test_pass_hat_k_is_the_share_of_draws_that_all_succeed() -> None:
    # Of 5 trials 3 succeed: of the 10 pairs 3 are of successes only, of the 10 triples 1.
    assert pass_hat_k(3, 5, 1) == pytest.approx(0.6)
    assert pass_hat_k(3, 5, 2) == pytest.approx(0.3)
    assert pass_hat_k(3, 5, 3) == pytest.approx(0.1)
    assert pass_hat_k(3, 5, 4) == 0
    trials = [True, True, True, False, False, True]
    for k in range(1, 7):
        draws = list(combinations(trials, k))
        share = Fraction(sum(all(draw) for draw in draws), len(draws))
        assert pass_hat_k(4, 6, k) == pytest.approx(float(share))


def test_pass_hat_k_averages_tasks_and_stops_at_the_fewest_trials() -> None:
    # Tasks with 2 of 2, 1 of 2 and 2 of 3: pass^1 (1 + 1/2 + 2/3) / 3, pass^2 (1 + 0 + 1/3) / 3.
    found = pass_hats([[True, True], [True, False], [True, False, True]])
    assert [hat.k for hat in found] == [1, 2]
    assert found[0].value == pytest.approx(13 / 18)
    assert found[1].value == pytest.approx(4 / 9)
    assert pass_hats([]) == ()


@pytest.mark.parametrize(("c", "n", "k"), [(1, 1, 0), (1, 1, 2), (3, 2, 1), (-1, 2, 1)])
def test_pass_hat_k_of_impossible_numbers_is_refused(c: int, n: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"no pass\^"):
        pass_hat_k(c, n, k)


def test_pass_hat_k_is_unbiased() -> None:
    random_ = random.Random(1)
    chances = [0.2, 0.5, 0.9]
    sums = [0.0] * 3
    rounds = 4_000
    for _ in range(rounds):
        for k in (1, 2, 3):
            values = [
                pass_hat_k(sum(random_.random() < chance for _ in range(4)), 4, k)
                for chance in chances
            ]
            sums[k - 1] += sum(values) / 3
    for k in (1, 2, 3):
        true = sum(chance**k for chance in chances) / 3
        assert sums[k - 1] / rounds == pytest.approx(true, abs=0.012)


def test_percentiles_are_interpolated() -> None:
    assert percentile([4, 1, 3, 2], 0.5) == 2.5
    assert percentile([1, 2, 3, 4, 5], 0.9) == pytest.approx(4.6)
    assert percentile([7], 0.99) == 7
    assert percentile([], 0.5) is None


def _covered(tasks: int, seeds: int, *, by_task: bool) -> float:
    """How often the interval holds the true mean, where a task's episodes are alike."""
    random_ = random.Random(tasks * 1000 + seeds)
    true = 0.5
    hits = 0
    rounds = 600
    for _ in range(rounds):
        clusters: list[list[float]] = []
        for _ in range(tasks):
            chance = random_.betavariate(1, 1)
            clusters.append([float(random_.random() < chance) for _ in range(seeds)])
        if not by_task:
            clusters = [[value] for cluster in clusters for value in cluster]
        made = clustered_mean(clusters)
        assert made.low is not None
        assert made.high is not None
        hits += made.low <= true <= made.high
    return hits / rounds


@pytest.mark.parametrize(("tasks", "seeds"), [(8, 10), (13, 5), (40, 4)])
def test_intervals_hold_the_true_mean_as_often_as_they_say(tasks: int, seeds: int) -> None:
    # 95% of 600 rounds: the standard error of the share is 0.9%.
    assert 0.92 <= _covered(tasks, seeds, by_task=True) <= 0.98


def test_intervals_that_ignore_tasks_would_be_far_too_narrow() -> None:
    assert _covered(8, 10, by_task=False) < 0.75
