"""Planes of scikit-learn's linear SVC (LIBSVM), to compare ours with.

Random problems whose rows have length 1, negatives first. Features have four decimals and are rounded to float32 before they
are fitted; who reads them as float32 has the same numbers. To run it again, from this folder (scikit-learn 1.9.1, numpy 2.4.6):

    python svm.py > svm.json
"""

import json

import numpy as np
import sklearn
from sklearn.svm import SVC

COST = 1.0


def problem(seed, negatives, positives, width, apart, copies=0):
    """Two Gaussian clouds whose middles are `apart` from each other. The first `copies` rows of either side come twice,
    and one row is on both sides."""
    rng = np.random.default_rng(seed)
    middle = rng.standard_normal(width)
    middle *= apart / 2 / np.linalg.norm(middle)
    # Away from the origin, so that the bias has something to do.
    offset = rng.standard_normal(width) / np.sqrt(width)

    def side(count, sign):
        rows = offset + sign * middle + rng.standard_normal((count, width)) / np.sqrt(width)
        rows = np.round(rows / np.linalg.norm(rows, axis=1, keepdims=True), 4)
        rows[count - copies :] = rows[:copies]
        return rows

    minus, plus = side(negatives, -1), side(positives, 1)
    if copies:
        plus[0] = minus[0]
    return np.concatenate([minus, plus]).astype(np.float32), np.repeat([-1, 1], [negatives, positives])


def short(numbers):
    return [float(f"{number:.9g}") for number in numbers]


def case(name, *shape, **options):
    features, targets = problem(*shape, **options)
    svc = SVC(kernel="linear", C=COST, tol=1e-8).fit(features, targets)
    decisions = svc.decision_function(features)
    # Without a support vector strictly between 0 and C the bias would be free within a range.
    weights = np.abs(svc.dual_coef_[0])
    assert ((weights > 1e-6) & (weights < COST - 1e-6)).any(), name
    return {
        "name": name,
        # As numpy prints a float32: the shortest decimal that is read as the same one.
        "features": [[float(str(value)) for value in row] for row in features],
        "targets": targets.tolist(),
        "w": short(svc.coef_[0]),
        "b": short(svc.intercept_)[0],
        "decisions": short(decisions),
        "wrong": int((np.sign(decisions) != targets).sum()),
    }


cases = [
    # name, seed, negatives, positives, width
    case("separable, small", 1, 10, 10, 2, apart=8.0),
    case("separable", 2, 60, 60, 8, apart=5.0),
    case("separable, wide", 3, 120, 80, 32, apart=2.0),
    case("overlapping, small", 4, 25, 15, 3, apart=0.8),
    case("overlapping", 5, 100, 100, 16, apart=0.5),
    case("overlapping, wide", 6, 150, 150, 32, apart=0.4),
    case("unbalanced", 7, 280, 20, 16, apart=1.5),
    case("unbalanced, overlapping", 8, 15, 185, 8, apart=0.8),
    case("duplicated rows", 9, 50, 40, 4, apart=1.0, copies=15),
]
versions = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
lines = ",\n".join(json.dumps(case) for case in cases)
print(f'{{"versions": {json.dumps(versions)}, "cost": {COST}, "cases": [\n{lines}\n]}}')
