"""A training step: forward, NCA, backward, SGD; with `--distill` also a frozen teacher, POD and POD-flat.

Images are random bytes that are on the device already, and are normalized within the step. An item is an image.

    python train_step.py --net resnet18 --size 64 --batch 32
    python train_step.py --net mnist --batch 128 --layout channels-last
    python train_step.py --net resnet18 --size 224 --batch 128 --device cuda --layout channels-last --precision bf16 --distill
    python train_step.py --size 64 --batch 256 --device cuda --layout channels-last --precision bf16 --distill --fused --graph
"""

import argparse
import copy
import math

import torch
import torch.nn.functional as F

import peer
from nets import CosineClassifier, ResNet18, SmallCnn

MARGIN, POD, FLAT = 0.6, 3.0, 1.0
FACTOR = math.sqrt(6)  # 30 classes seen, 5 of them new


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--net", choices=["resnet18", "mnist"], default="resnet18")
    parser.add_argument("--size", type=int, help="the side of an image: 64, or 28 for mnist, unless given")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--classes", type=int, default=50)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--layout", choices=["nchw", "channels-last"], default="nchw")
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16"], default="fp32")
    parser.add_argument("--compile", action="store_true", help="the networks by torch.compile")
    parser.add_argument("--distill", action="store_true")
    parser.add_argument("--fused", action="store_true", help="PyTorch's optimizer of one kernel")
    parser.add_argument("--graph", action="store_true", help="the whole step as one CUDA graph")
    parser.add_argument("--steps", type=int, default=5, help="steps a round")
    return parser.parse_args()


def nca(similarities, targets):
    own_column = targets[:, None]
    own = similarities.gather(1, own_column)
    others = similarities.scatter(1, own_column, float("-inf")).logsumexp(1, keepdim=True)
    return F.relu(others - own + MARGIN).mean()


def profile(maps):
    squares = maps.float().square()
    return F.normalize(torch.cat([squares.sum(3).flatten(1), squares.sum(2).flatten(1)], 1))


def pod(old, new):
    distances = [torch.linalg.vector_norm(profile(a) - profile(b), dim=1).mean() for a, b in zip(old, new)]
    return sum(distances) / len(distances)


def pod_flat(old, new):
    return (1 - F.cosine_similarity(old.float(), new.float())).mean()


def recorded(step):
    """The step as one CUDA graph, as PyTorch's manual has it: some steps on a stream beside, then the recording."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def main():
    args = arguments()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = args.precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"

    layout = torch.channels_last if args.layout == "channels-last" else torch.contiguous_format
    size = args.size or (28 if args.net == "mnist" else 64)
    net = SmallCnn(size) if args.net == "mnist" else ResNet18()
    net = net.to(args.device, memory_format=layout)
    classifier = CosineClassifier(args.classes, net.width).to(args.device)
    settings = {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4, "fused": args.fused or None}
    sgd = torch.optim.SGD([*net.parameters(), *classifier.parameters()], **settings)
    teacher = copy.deepcopy(net).eval().requires_grad_(False) if args.distill else None

    shape = args.batch, net.channels, size, size
    pixels = torch.randint(256, shape, dtype=torch.uint8, device=args.device).contiguous(memory_format=layout)
    targets = torch.randint(args.classes, (args.batch,), device=args.device)
    # For bytes: 255 times those for [0, 1].
    mean, std = (255 * torch.tensor(values, device=args.device).view(1, -1, 1, 1) for values in (net.mean, net.std))

    forward = torch.compile(net) if args.compile else net
    look = torch.compile(teacher) if args.compile and teacher else teacher
    device_type = torch.device(args.device).type

    def autocast():
        return torch.autocast(device_type, torch.bfloat16, enabled=args.precision == "bf16")

    def step():
        images = (pixels.float() - mean) / std
        with autocast():
            features, maps = forward(images)
        loss = nca(classifier(features.float()), targets)
        if teacher is not None:
            with torch.no_grad(), autocast():
                old_features, old_maps = look(images)
            loss = loss + FACTOR * (POD * pod(old_maps, maps) + FLAT * pod_flat(old_features, features))
        sgd.zero_grad()
        loss.backward()
        sgd.step()

    work = recorded(step) if args.graph else step
    peer.serve(peer.repeated(work, args.steps, args.batch), args.device)


if __name__ == "__main__":
    main()
