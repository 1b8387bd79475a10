"""The statistics of an evaluation: pure functions over numbers, each with its source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

CONFIDENCE: Final = 0.95
_DIGITS: Final = 15


@dataclass(frozen=True)
class Estimate:
    """A mean with the interval that it is known to.

    Attributes:
        mean: the mean of all values; None where there are none.
        standard_error: clustered; None with fewer than two clusters, which say nothing of others.
        low: the interval's lower end; None without a standard error.
        high: its upper end.
        count: how many values.
        clusters: how many clusters they fall into.
    """

    mean: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    count: int
    clusters: int

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON."""
        return dict(vars(self))


def mean(values: Sequence[float]) -> float | None:
    """The mean, the same in any order of the values; None of none."""
    return math.fsum(values) / len(values) if values else None


def clustered_mean(clusters: Iterable[Sequence[float]], confidence: float = CONFIDENCE) -> Estimate:
    """The mean over clusters of related values, with a confidence interval.

    Episodes of one task are not independent: an agent that fails a task on one seed is likely to
    fail it on others. So the standard error adds up the deviations within each cluster before it
    squares them (Miller 2024, "Adding Error Bars to Evals", arXiv:2411.00640, section 2.2).

    Few clusters make that too small. The usual correction is applied: the variance is multiplied by
    G / (G - 1) for G clusters, and the interval takes Student's t with G - 1 degrees of freedom
    (Cameron and Miller 2015, "A Practitioner's Guide to Cluster-Robust Inference", section VI).

    Args:
        clusters: the values of each cluster; empty ones are left out.
        confidence: how often such intervals hold the true mean.
    """
    groups = [list(group) for group in clusters if group]
    values = [value for group in groups for value in group]
    centre = mean(values)
    if centre is None or len(groups) < 2:
        return Estimate(centre, None, None, None, len(values), len(groups))
    sums = [math.fsum(value - centre for value in group) for group in groups]
    correction = len(groups) / (len(groups) - 1)
    error = math.sqrt(correction * math.fsum(total * total for total in sums)) / len(values)
    error = 0.0 if error < 10**-_DIGITS else error
    reach = t_quantile((1 + confidence) / 2, len(groups) - 1) * error
    return Estimate(centre, error, centre - reach, centre + reach, len(values), len(groups))


def pass_hat_k(successes: int, trials: int, k: int) -> float:
    """The chance that k trials of a task, drawn from those made, all succeed: C(c, k) / C(n, k).

    It is the unbiased estimate of pass^k (Yao et al. 2024, "tau-bench", arXiv:2406.12045,
    section 3). pass^1 is the share of trials that succeed.

    Args:
        successes: c, how many trials succeeded.
        trials: n, how many were made; at least k.
        k: how many must succeed, at least 1.

    Raises:
        ValueError: the numbers cannot be.
    """
    if not (1 <= k <= trials and 0 <= successes <= trials):
        raise ValueError(f"no pass^{k} of {successes} successes in {trials} trials")
    return math.comb(successes, k) / math.comb(trials, k)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of the values do not exceed, interpolated linearly; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def t_cdf(t: float, degrees: int) -> float:
    """Student's t for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine, sine = math.cos(angle), math.sin(angle)
    term, total = 1.0, 0.0
    if degrees % 2:
        term = cosine
        for order in range(2, degrees, 2):
            total += term
            term *= cosine * cosine * order / (order + 1)
        inside = (angle + sine * total) * 2 / math.pi
    else:
        for order in range(1, degrees, 2):
            total += term
            term *= cosine * cosine * order / (order + 1)
        inside = sine * total
    return (1 + inside) / 2


def t_quantile(share: float, degrees: int) -> float:
    """The t that a `share` above one half lies below, by bisection.

    Raises:
        ValueError: there are no degrees of freedom, or the share is not between 0.5 and 1.
    """
    if degrees < 1 or not 0.5 <= share < 1:
        raise ValueError(f"no quantile {share} of Student's t with {degrees} degrees of freedom")
    low, high = 0.0, 1.0
    while t_cdf(high, degrees) < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if t_cdf(middle, degrees) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2
