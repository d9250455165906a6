"""One linear SVM between the features of a new class and those of 25 others, by scikit-learn (LIBSVM). An item is a fit.

Features are made up: Gaussian classes that overlap, scaled to length 1. So that others can fit the very same ones, they can be
written, and read again: `features.npy`, float32 `[rows, width]`, negatives first, and `labels.npy`, uint8, 1 for positives.

    python svm.py --negatives 12500 --positives 500 --width 512
    python svm.py --write DIR
    python svm.py --features DIR/features.npy --labels DIR/labels.npy
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.svm import SVC

import peer

CLASSES = 25
# Classes differ in so many directions, and by so much. 73 % of the features are then nearest to the mean of their own class,
# about as many as with ResNet18's features of 25 classes of small photos.
DIRECTIONS, APART = 25, 0.8


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--negatives", type=int, default=12_500)
    parser.add_argument("--positives", type=int, default=500)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the features there, and end")
    parser.add_argument("--features", type=Path, metavar="FILE.npy", help="read them instead")
    parser.add_argument("--labels", type=Path, metavar="FILE.npy")
    args = parser.parse_args()
    if (args.features is None) != (args.labels is None):
        parser.error("--features and --labels go together")
    return args


def made_up(negatives, positives, width):
    """Most of the variance lies in few directions, as in features that were learned."""
    rng = np.random.default_rng(0)
    spread = (1.0 + np.arange(width)) ** -0.5
    means = APART * spread * rng.standard_normal((CLASSES + 1, width))
    means[:, DIRECTIONS:] = 0
    labels = np.repeat([0, 1], [negatives, positives]).astype(np.uint8)
    classes = np.where(labels == 1, CLASSES, np.arange(len(labels)) * CLASSES // negatives)
    features = means[classes] + spread * rng.standard_normal((len(labels), width))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    return features.astype(np.float32), labels


def main():
    args = arguments()
    if args.features:
        features, labels = np.load(args.features), np.load(args.labels)
    else:
        features, labels = made_up(args.negatives, args.positives, args.width)
    if args.write:
        args.write.mkdir(parents=True, exist_ok=True)
        np.save(args.write / "features.npy", features)
        np.save(args.write / "labels.npy", labels)
        return

    def fit():
        # A larger cache than scikit-learn's 200 MB makes no difference here.
        SVC(kernel="linear").fit(features, labels)
        return 1

    SVC(kernel="linear").fit(features[[0, -1]], labels[[0, -1]])
    peer.serve(fit)


if __name__ == "__main__":
    main()
