"""The run of `recipes/mnist-podnet.toml` in plain PyTorch: what to hold our accuracy and our time against.

MNIST in three tasks, 6+2+2, digits in order; a small CNN with 64-d features, a cosine classifier with a learned scale,
NCA with a margin, POD and POD-flat, 20 herded exemplars a class, and a balanced fine-tune of the proxies.
Written for PyTorch 2.11; reads the four idx files of MNIST, gzipped.

    python mnist_pod.py --seed 1 --data ~/data/mnist
"""

import argparse
import copy
import gzip
import math
import os
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SPLIT = [6, 2, 2]
MARGIN, POD, FLAT = 0.6, 3.0, 1.0
MOMENTUM, WEIGHT_DECAY = 0.9, 1e-4
MEMORY, FINETUNE_EPOCHS, FINETUNE_LR = 20, 20, 0.01
RAW_ONE = math.log(math.e - 1)  # where softplus is 1


def arguments():
    root = Path(os.environ.get("PRESCIENT_DATA", Path(__file__).resolve().parents[2] / "../shared/data"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=root / "mnist", help="the folder with the four files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--threads", type=int, help="PyTorch's own choice, unless given")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--verbose", action="store_true", help="losses, epoch by epoch")
    parser.add_argument(
        "--init",
        choices=["pytorch", "tch"],
        default="pytorch",
        help="first weights: PyTorch's own, U(±1/√fan), or tch's, U(±√(6/fan)) and no bias of convolutions",
    )
    return parser.parse_args()


def idx(folder, name, header):
    with gzip.open(folder / f"{name}.gz") as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=header)


def mnist(folder, prefix, device):
    """Normalized images `[n, 1, 28, 28]` and digits `[n]`."""
    pixels = torch.tensor(idx(folder, f"{prefix}-images-idx3-ubyte", 16)).view(-1, 1, 28, 28).to(device)
    labels = torch.tensor(idx(folder, f"{prefix}-labels-idx1-ubyte", 8)).long().to(device)
    return (pixels.float() / 255 - 0.1307) / 0.3081, labels


class SmallCnn(nn.Module):
    """Features `[n, 64]`, and the two maps before ReLU."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        self.linear = nn.Linear(64 * 7 * 7, 64)

    def forward(self, x):
        first = self.conv1(x)
        second = self.conv2(F.max_pool2d(F.relu(first), 2))
        return self.linear(F.max_pool2d(F.relu(second), 2).flatten(1)), [first, second]


def like_tch_(net):
    for layer in (net.conv1, net.conv2, net.linear):
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    nn.init.zeros_(net.conv1.bias)
    nn.init.zeros_(net.conv2.bias)


class CosineClassifier(nn.Module):
    """One block of proxies a task, and the scale η = softplus(ρ)."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ParameterList()
        self.raw_scale = nn.Parameter(torch.tensor(RAW_ONE))

    def add(self, proxies):
        self.blocks.append(nn.Parameter(proxies))

    def proxies(self):
        return torch.cat(list(self.blocks))

    def scale(self):
        return F.softplus(self.raw_scale)

    def forward(self, features):
        return F.normalize(features) @ F.normalize(self.proxies()).T


def nca(similarities, scale, targets):
    scaled = scale * similarities
    own = scaled.gather(1, targets[:, None])
    others = scaled.scatter(1, targets[:, None], float("-inf")).logsumexp(1, keepdim=True)
    return F.relu(others - own + MARGIN).mean()


def profile(maps):
    squares = maps.square()
    return F.normalize(torch.cat([squares.sum(3).flatten(1), squares.sum(2).flatten(1)], 1))


def pod(old, new):
    # Clamped under the root, which has no slope at 0.
    distances = [(profile(a) - profile(b)).square().sum(1).clamp_min(1e-12).sqrt().mean() for a, b in zip(old, new)]
    return sum(distances) / len(distances)


@torch.no_grad()
def features_of(net, images):
    return torch.cat([net(batch)[0] for batch in images.split(256)])


def herd(features, count):
    unit = F.normalize(features.double())
    mean = unit.mean(0)
    wanted, chosen = mean.clone(), []
    for _ in range(min(count, len(unit))):
        scores = unit @ wanted
        scores[chosen] = float("-inf")
        best = int(scores.argmax())
        wanted += mean - unit[best]
        chosen.append(best)
    return chosen


def batches(count, size):
    """Shuffled. A single image left over sits out, as in ours."""
    return [batch for batch in torch.randperm(count).split(size) if len(batch) > 1]


def train(args, net, classifier, teacher, images, labels, factor, task):
    learning = [*net.parameters(), classifier.blocks[-1], classifier.raw_scale]
    sgd = torch.optim.SGD(learning, lr=args.lr, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(sgd, args.epochs)
    for epoch in range(args.epochs):
        terms_of_epoch = []
        for batch in batches(len(images), args.batch):
            batch = batch.to(images.device)
            x, y = images[batch], labels[batch]
            features, maps = net(x)
            terms = [nca(classifier(features), classifier.scale(), y)]
            if teacher is not None:
                with torch.no_grad():
                    old_features, old_maps = teacher(x)
                turned = (1 - F.cosine_similarity(old_features, features)).mean()
                terms += [POD * factor * pod(old_maps, maps), FLAT * factor * turned]
            sgd.zero_grad()
            sum(terms).backward()
            sgd.step()
            terms_of_epoch.append(torch.stack(terms).detach())
        schedule.step()
        if args.verbose:
            means = torch.stack(terms_of_epoch).mean(0).tolist()
            named = "  ".join(f"{name} {mean:.3f}" for name, mean in zip(["nca", "pod", "pod-flat"], means))
            print(f"  task {task} train, epoch {epoch + 1}: {named}  scale {classifier.scale().item():.3f}", flush=True)


def finetune(args, net, classifier, images, labels, task):
    sgd = torch.optim.SGD(classifier.blocks.parameters(), lr=FINETUNE_LR, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
    features, scale = features_of(net, images), classifier.scale().detach()
    for epoch in range(FINETUNE_EPOCHS):
        losses = []
        for batch in batches(len(images), args.batch):
            batch = batch.to(images.device)
            loss = nca(classifier(features[batch]), scale, labels[batch])
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            losses.append(loss.item())
        if args.verbose and (epoch + 1) % 5 == 0:
            print(f"  task {task} finetune, epoch {epoch + 1}: nca {sum(losses) / len(losses):.3f}")


def main():
    args = arguments()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    train_images, train_labels = mnist(args.data, "train", args.device)
    test_images, test_labels = mnist(args.data, "t10k", args.device)
    began = time.perf_counter()

    net, classifier = SmallCnn(), CosineClassifier()
    if args.init == "tch":
        like_tch_(net)
    net, classifier = net.to(args.device), classifier.to(args.device)
    teacher = None
    memory = torch.tensor([], dtype=torch.long, device=args.device)
    for task, new in enumerate(SPLIT, start=1):
        seen = sum(SPLIT[:task])
        classes = range(seen - new, seen)
        images_of = {c: (train_labels == c).nonzero().flatten() for c in classes}

        if task == 1:
            classifier.add(torch.randn(new, 64).to(args.device) / math.sqrt(64))
        else:
            with torch.no_grad():
                length = classifier.proxies().norm(dim=1).mean()
                means = [F.normalize(features_of(net, train_images[images_of[c]])).mean(0) for c in classes]
                classifier.add(F.normalize(torch.stack(means)) * length)
        chosen = torch.cat([*images_of.values(), memory])
        factor = math.sqrt(seen / new)
        train(args, net, classifier, teacher, train_images[chosen], train_labels[chosen], factor, task)

        for rows in images_of.values():
            herded = herd(features_of(net, train_images[rows]), MEMORY)
            memory = torch.cat([memory, rows[herded]])
        if task > 1:
            finetune(args, net, classifier, train_images[memory], train_labels[memory], task)
        teacher = copy.deepcopy(net).requires_grad_(False)

        with torch.no_grad():
            right = classifier(features_of(net, test_images)).argmax(1) == test_labels
        over_all, over_seen = right.float().mean().item(), right[test_labels < seen].float().mean().item()
        scores = f"all {100 * over_all:.2f} %  seen {100 * over_seen:.2f} %"
        print(f"task {task}: {scores}  after {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
