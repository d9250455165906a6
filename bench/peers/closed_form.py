"""Classifiers in closed form on frozen features, task by task: what to hold our accuracy and our time against.

Nearest class means by cosine; RanPAC (McDonnell et al. 2023), ridge regression on fixed random ReLU features, λ chosen in each
task on a fifth of its photos; and linear discriminant analysis with one shrunk covariance, which is our base model and a check
of this script. Each keeps sums, no photo, and answers only with classes that it has seen. Accuracy is over all test photos,
those of future classes included: the continual one is the mean over tasks, the final one that of the last task.

Features are a `.safetensors` as in docs/guide/data.md, an order has one class a line, `25+5x5` is 25 classes, then five
tasks of five. Seconds are of all tasks together, reading the file not included.

    python closed_form.py awa43.safetensors --order order-1.txt --split 23+4x5 --threads 1
"""

import argparse
import json
import time
from pathlib import Path

import torch
from safetensors import safe_open

# RanPAC's own: 10^-8, …, 10^8.
RIDGES = [10.0**power for power in range(-8, 9)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("features", type=Path, metavar="FILE.safetensors")
    parser.add_argument("--order", type=Path, required=True, help="one class a line")
    parser.add_argument("--split", required=True, help="such as 23+4x5")
    parser.add_argument("--only", choices=list(METHODS), action="append", help="all, unless given")
    parser.add_argument("--width", type=int, default=6_000, help="RanPAC's random features")
    parser.add_argument("--ridges", type=float, nargs="+", default=RIDGES, help="the λ that RanPAC tries")
    parser.add_argument("--shrinkage", type=float, default=0.5, help="the covariance's, from 0 to 1")
    parser.add_argument("--seed", type=int, default=1, help="of the projection, and of the photos held out")
    parser.add_argument("--double", action="store_true", help="RanPAC's sums in double precision")
    parser.add_argument("--threads", type=int, help="PyTorch's own choice, unless given")
    parser.add_argument("--json", action="store_true", help="one line of JSON a method")
    return parser.parse_args()


def sizes(split):
    """The number of classes of each task. A part is a number of classes, or `TASKSxCLASSES`."""
    counts = []
    for part in split.split("+"):
        *tasks, classes = part.split("x")
        counts += [int(classes)] * (int(tasks[0]) if tasks else 1)
    return counts


def read(path, order, split):
    """Features of length 1, labels as positions in the order, and the number of classes of each task."""
    with safe_open(path, "pt") as file:
        names = file.metadata()["classes"].splitlines()
        sides = [(file.get_tensor(f"{side}.features"), file.get_tensor(f"{side}.labels")) for side in ("train", "test")]
    ordered = order.read_text().split()
    counts = sizes(split)
    if sorted(ordered) != sorted(names):
        raise SystemExit(f"{order} does not have the classes of {path}")
    if sum(counts) != len(names):
        raise SystemExit(f"{split} has {sum(counts)} classes, {path} has {len(names)}")
    position = torch.tensor([ordered.index(name) for name in names])
    unit = torch.nn.functional.normalize
    return [(unit(features.float(), dim=1), position[labels.long()]) for features, labels in sides], counts


def added(sums, count):
    """With rows of zeros for `count` classes in all."""
    return torch.cat([sums, sums.new_zeros(count - len(sums), *sums.shape[1:])])


class NearestMeans:
    """The class whose mean has the least angle to the feature."""

    def __init__(self, width, _):
        self.sums = torch.zeros(0, width)

    def learn(self, features, labels, seen):
        self.sums = added(self.sums, seen).index_add_(0, labels, features)
        self.means = torch.nn.functional.normalize(self.sums, dim=1)

    def scores(self, features):
        return features @ self.means.T

    def notes(self):
        return {}


class Discriminant:
    """The class whose mean is nearest, by one covariance within classes that is shrunk towards a multiple of the identity."""

    def __init__(self, width, args):
        self.shrinkage = args.shrinkage
        self.counts, self.sums = torch.zeros(0, dtype=torch.float64), torch.zeros(0, width, dtype=torch.float64)
        self.scatter = torch.zeros(width, width, dtype=torch.float64)

    def learn(self, features, labels, seen):
        features = features.double()
        counts = torch.bincount(labels, minlength=seen).double()
        sums = torch.zeros(seen, features.shape[1], dtype=torch.float64).index_add_(0, labels, features)
        # All photos of a class come in one task, so what its own mean leaves is all of its scatter.
        within = features - (sums / counts.clamp(min=1)[:, None])[labels]
        self.scatter += within.T @ within
        self.counts, self.sums = added(self.counts, seen) + counts, added(self.sums, seen) + sums
        covariance = self.scatter / (self.counts.sum() - seen)
        even = self.shrinkage * covariance.diagonal().mean() * torch.eye(len(covariance), dtype=torch.float64)
        factor = torch.linalg.cholesky((1 - self.shrinkage) * covariance + even)
        means = self.sums / self.counts[:, None]
        self.planes = torch.cholesky_solve(means.T, factor)
        self.constants = -0.5 * (means.T * self.planes).sum(0)

    def scores(self, features):
        return features.double() @ self.planes + self.constants

    def notes(self):
        return {}


class RanPac:
    """Ridge regression of one-hot labels on random ReLU features; λ has the least squared error on a fifth held out."""

    def __init__(self, width, args):
        self.kind = torch.float64 if args.double else torch.float32
        self.ridges = args.ridges
        self.generator = torch.Generator().manual_seed(args.seed)
        self.projection = torch.randn(width, args.width, generator=self.generator)
        self.gram = torch.zeros(args.width, args.width, dtype=self.kind)
        self.sums = torch.zeros(0, args.width, dtype=self.kind)
        self.chosen, self.choosing = [], 0.0

    def project(self, features):
        return (features @ self.projection).relu_().to(self.kind)

    def take(self, features, labels):
        self.gram.addmm_(features.T, features)
        self.sums.index_add_(0, labels, features)

    def solve(self, ridge):
        """None where rounding leaves no positive matrix: λ is too small."""
        matrix = self.gram.clone()
        matrix.diagonal().add_(ridge)
        factor, failed = torch.linalg.cholesky_ex(matrix)
        return None if failed else torch.cholesky_solve(self.sums.T, factor)

    def learn(self, features, labels, seen):
        features = self.project(features)
        self.sums = added(self.sums, seen)
        mixed = torch.randperm(len(labels), generator=self.generator)
        held, kept = mixed[: len(mixed) // 5], mixed[len(mixed) // 5 :]
        # Sums of earlier tasks and four fifths of this one choose λ; then the last fifth is added.
        self.take(features[kept], labels[kept])
        began = time.perf_counter()
        targets = torch.nn.functional.one_hot(labels[held], seen).to(self.kind)
        errors = {}
        for ridge in self.ridges:
            weights = self.solve(ridge)
            if weights is not None:
                errors[ridge] = (features[held] @ weights - targets).square().mean().item()
        self.chosen.append(min(errors, key=errors.get))
        self.choosing += time.perf_counter() - began
        self.take(features[held], labels[held])
        self.weights = self.solve(self.chosen[-1])

    def scores(self, features):
        return self.project(features) @ self.weights

    def notes(self):
        return {"choosing_seconds": self.choosing, "ridges": self.chosen}


METHODS = {"nearest-means": NearestMeans, "lda": Discriminant, "ranpac": RanPac}


def run(method, train, test, counts, args):
    """Accuracy over all test photos after each task, and the seconds that learning and answering took."""
    began = time.perf_counter()
    model = METHODS[method](train[0].shape[1], args)
    learning, answering, accuracies = time.perf_counter() - began, 0.0, []
    for task, count in enumerate(counts):
        first = sum(counts[:task])
        new = (train[1] >= first) & (train[1] < first + count)
        features, labels = train[0][new], train[1][new]
        began = time.perf_counter()
        model.learn(features, labels, first + count)
        learned = time.perf_counter()
        answers = model.scores(test[0]).argmax(1)
        answering += time.perf_counter() - learned
        learning += learned - began
        accuracies.append(100 * (answers == test[1]).double().mean().item())
    found = {"method": method, "continual": sum(accuracies) / len(accuracies), "final": accuracies[-1]}
    return found | {"learn_seconds": learning, "answer_seconds": answering, "tasks": accuracies} | model.notes()


def main():
    args = arguments()
    if args.threads:
        torch.set_num_threads(args.threads)
    (train, test), counts = read(args.features, args.order, args.split)
    # Libraries that are loaded at the first product or factor are no method's time.
    torch.linalg.cholesky(train[0][:8] @ train[0][:8].T + torch.eye(8))
    with torch.inference_mode():
        for method in args.only or METHODS:
            found = run(method, train, test, counts, args)
            if args.json:
                print(json.dumps(found), flush=True)
                continue
            tasks = " ".join(f"{accuracy:.1f}" for accuracy in found["tasks"])
            print(f"{method:14} continual {found['continual']:.2f}  final {found['final']:.2f}  after each task {tasks}")
            took = f"learning {found['learn_seconds']:.3f} s, answering {found['answer_seconds']:.3f} s"
            if "ridges" in found:
                chosen = " ".join(f"{ridge:g}" for ridge in found["ridges"])
                took += f"; of learning, choosing λ {found['choosing_seconds']:.3f} s: {chosen}"
            print(f"{'':14} {took}", flush=True)


if __name__ == "__main__":
    main()
