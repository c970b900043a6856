# SPDX-License-Identifier: Apache-2.0
"""The statistics of harness/judge/statistics.h, compared with SciPy's on random samples.

usage: statistics_scipy_test.py PROGRAM, which answers as print_statistics.cpp describes.
Exits 77 (skipped) where python3-scipy is not installed.
"""

import random
import subprocess
import sys
import unittest
from collections.abc import Sequence

try:
    from scipy import stats
except ImportError:
    print("skipped: python3-scipy is not installed")
    sys.exit(77)

Sample = list[float]
SEED = 20
CASES = 60


def answers(questions: list[str]) -> list[list[float]]:
    done = subprocess.run(sys.argv[1], input="\n".join(questions) + "\n", check=True,
                          capture_output=True, text=True)
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def line(name: str, *samples: Sequence[float]) -> str:
    return f"{name} " + " / ".join(" ".join(map(repr, sample)) for sample in samples)


def normal(chance: random.Random, count: int, mean: float = 0.0) -> Sample:
    return [chance.gauss(mean, 1.0) for _ in range(count)]


def pairs(least: int, most: int) -> list[tuple[Sample, Sample]]:
    chance = random.Random(SEED)
    return [(normal(chance, chance.randint(least, most)),
             normal(chance, chance.randint(least, most), chance.uniform(0, 2)))
            for _ in range(CASES)]


def permuted_p(a: Sample, b: Sample) -> float:
    """The p value over every deal of the pooled values: a rank sum as far from its mean, or
    further."""
    ranks = stats.rankdata([*a, *b])
    mean = len(a) * (len(ranks) + 1) / 2

    def distance(first: Sample, _: Sample) -> float:
        return abs(float(sum(first)) - mean)

    return float(stats.permutation_test((ranks[:len(a)], ranks[len(a):]), distance,
                                        vectorized=False, alternative="greater",
                                        n_resamples=100_000).pvalue)


class MannWhitney(unittest.TestCase):
    def compare(self, samples: list[tuple[Sample, Sample]], method: str, places: int) -> None:
        ours = answers([line("mann_whitney", *each) for each in samples])
        self.assertEqual(len(ours), CASES)
        for (a, b), (p,) in zip(samples, ours):
            theirs = stats.mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue
            self.assertAlmostEqual(p, float(theirs), places=places, msg=f"{a} {b}")

    def test_is_scipys_exact_one_for_small_samples(self) -> None:
        self.compare(pairs(2, 12), "exact", 10)

    def test_is_scipys_approximation_for_large_ones(self) -> None:
        self.compare(pairs(70, 90), "asymptotic", 10)

    def test_counts_ties_as_every_deal_of_them_does(self) -> None:
        chance = random.Random(SEED)
        samples = [([float(chance.randint(1, 4)) for _ in range(5)],
                    [float(chance.randint(2, 6)) for _ in range(6)]) for _ in range(8)]
        ours = answers([line("mann_whitney", *each) for each in samples])
        for (a, b), (p,) in zip(samples, ours):
            self.assertAlmostEqual(p, permuted_p(a, b), places=10, msg=f"{a} {b}")


class SignedRank(unittest.TestCase):
    def compare(self, least: int, most: int, **method: object) -> None:
        chance = random.Random(SEED)
        samples = [normal(chance, chance.randint(least, most), chance.uniform(-1, 1))
                   for _ in range(CASES)]
        ours = answers([line("signed_rank", each) for each in samples])
        self.assertEqual(len(ours), CASES)
        for sample, (p,) in zip(samples, ours):
            theirs = stats.wilcoxon(sample, alternative="two-sided", **method).pvalue
            self.assertAlmostEqual(p, float(theirs), places=10, msg=str(sample))

    def test_is_scipys_exact_one_for_few_differences(self) -> None:
        self.compare(1, 20, mode="exact")

    def test_is_scipys_approximation_for_many(self) -> None:
        self.compare(130, 170, mode="approx", correction=True)


class StudentT(unittest.TestCase):
    def test_is_scipys_for_few_and_many_degrees_of_freedom(self) -> None:
        chance = random.Random(SEED)
        cases = [(chance.uniform(0, 12), freedom) for freedom in (*range(1, 40), 100, 999)]
        ours = answers([f"student_t {t!r} {freedom}" for t, freedom in cases])
        self.assertEqual(len(ours), len(cases))
        for (t, freedom), (p, quantile) in zip(cases, ours):
            self.assertAlmostEqual(p, 2 * float(stats.t.sf(t, freedom)), places=12)
            if p > 1e-6:
                self.assertAlmostEqual(quantile, t, places=6, msg=f"{freedom} degrees of freedom")


class StudentizedRange(unittest.TestCase):
    def test_is_scipys_for_few_and_many_means(self) -> None:
        chance = random.Random(SEED)
        cases = [(chance.uniform(1, 9), means, freedom)
                 for means in (2, 3, 8, 15, 30) for freedom in (1, 2, 5, 8, 60)]
        ours = answers([line("studentized_range", case) for case in cases])
        self.assertEqual(len(ours), len(cases))
        for (q, means, freedom), (p, quantile) in zip(cases, ours):
            theirs = float(stats.studentized_range.sf(q, means, freedom))
            self.assertAlmostEqual(p, theirs, places=5)
            if 1e-4 < p < 0.5:
                self.assertAlmostEqual(quantile / q, 1, places=4, msg=f"{means}, {freedom}")


class MedianInterval(unittest.TestCase):
    def test_has_the_coverage_of_the_binomial_distribution(self) -> None:
        chance = random.Random(SEED)
        samples = [normal(chance, count) for count in range(1, CASES + 1)]
        ours = answers([line("median_interval", each) for each in samples])
        self.assertEqual(len(ours), CASES)
        for sample, (median, low, high, coverage) in zip(samples, ours):
            count, ordered = len(sample), sorted(sample)
            self.assertAlmostEqual(median, stats.scoreatpercentile(sample, 50), places=12)
            rank = ordered.index(low)  # from 0: as many values lie below the interval
            self.assertEqual(high, ordered[count - 1 - rank])
            self.assertAlmostEqual(coverage, 1 - 2 * float(stats.binom.cdf(rank, count, 0.5))
                                   if count > 1 else 0.0, places=12)
            narrower = 1 - 2 * float(stats.binom.cdf(rank + 1, count, 0.5))
            self.assertTrue(narrower < 0.95, f"{count} values")
            self.assertTrue(coverage >= 0.95 or rank == 0, f"{count} values")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
