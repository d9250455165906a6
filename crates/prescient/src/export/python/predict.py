"""Classifies @INPUTS@ with the model in this folder: the three best classes of each.

    pip install @PACKAGES@
    python predict.py @ARGUMENTS@

Or from Python: `from predict import LABELS, answer, read`.
"""

import json
import sys
from pathlib import Path

@IMPORTS@

HERE = Path(__file__).resolve().parent
LABELS = json.loads((HERE / "labels.json").read_text(encoding="utf-8"))
INPUT = json.loads((HERE / "preprocessing.json").read_text(encoding="utf-8"))


@READER@


@RUNTIME@


def main():
    for name, batch in batches(sys.argv[1:]):
        for one, probabilities, scores in zip(name, *answer(batch)):
            for place in scores.argsort()[::-1][:3]:
                known = "seen" if LABELS[place]["seen"] else "not yet photographed"
                print(f"{one}\t{LABELS[place]['class']}\t{probabilities[place]:.4f}\t{known}")


if __name__ == "__main__":
    main()
