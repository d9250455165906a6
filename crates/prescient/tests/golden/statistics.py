"""Paired comparisons by scipy, to compare ours with.

Student's paired test with its interval, and McNemar's exact test as a binomial one. Holm's correction is written out here
from its definition, since scipy has none. To run it again, from this folder (scipy 1.17.1, numpy 2.4.6):

    python statistics.py > statistics.json
"""

import json
import sys

# This file's own name must not hide Python's module `statistics`.
sys.path.pop(0)

import numpy as np
from scipy import stats

rng = np.random.default_rng(5)


def paired(count, shift, spread):
    differences = [round(float(value), 6) for value in shift + spread * rng.standard_normal(count)]
    found = stats.ttest_1samp(differences, 0.0)
    low, high = found.confidence_interval(0.95)
    return {"differences": differences, "mean": float(np.mean(differences)), "low": low, "high": high, "p": found.pvalue}


def mcnemar(first, second):
    p = stats.binomtest(min(first, second), first + second, 0.5).pvalue
    return {"first": first, "second": second, "p": p}


def holm(count):
    values = [round(float(value), 6) for value in rng.random(count) ** 3]
    corrected = [0.0] * count
    for index, value in enumerate(values):
        # The largest of what this value and every smaller one are multiplied to.
        smaller = [other for other in values if other <= value]
        corrected[index] = min(1.0, max((count - sum(o < other for o in values)) * other for other in smaller))
    return {"values": values, "corrected": corrected}


golden = {
    "paired": [paired(*case) for case in [(2, 0.03, 0.01), (3, 0.02, 0.02), (3, 0.0, 0.01), (5, -0.04, 0.01), (20, 0.01, 0.05)]],
    "mcnemar": [mcnemar(*case) for case in [(1, 5), (0, 12), (30, 30), (120, 80), (700, 900)]],
    "holm": [holm(count) for count in [2, 3, 8]],
}
json.dump(golden, sys.stdout, indent=1)
print()
