"""Features and maps of torchvision's ResNet18, for `tests/resnet18.rs` to compare ours with.

The weights would be 45 MB, so they are not kept: both sides compute every weight and every pixel with the same exact
integer formula. To run it again, from this folder (torch 2.11.0 and torchvision 0.26.0, CPU):

    python resnet18.py > resnet18.json
"""

import json

import numpy as np
import torch
import torchvision
from torchvision.models import resnet18


def noise(stream, count):
    """`count` numbers in [-0.5, 0.5): a hash of `stream` and of each number's place (murmur3's finalizer)."""
    x = np.arange(count, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(stream * 40503 % 2**32)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> np.uint32(13)
    x *= np.uint32(0xC2B2AE35)
    x ^= x >> np.uint32(16)
    return x / 2.0**32 - 0.5


def filled(name, stream, shape):
    """The variable `name`: convolutions in Kaiming's range, norms and their statistics away from 0 and 1."""
    values = noise(stream, int(np.prod(shape)))
    if len(shape) == 4:
        values = values * 2.0 * np.sqrt(6.0 / np.prod(shape[1:]))
    elif name.endswith("running_var") or name.endswith("weight"):
        values = values + 1.0
    else:
        values = values * 0.2
    return torch.tensor(values.reshape(shape), dtype=torch.float32)


def image(stream, shape):
    return torch.tensor((noise(stream, int(np.prod(shape))) * 4.0).reshape(shape), dtype=torch.float32)


def network():
    net = resnet18()
    net.fc = torch.nn.Identity()
    variables = {k: v for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}
    for stream, name in enumerate(sorted(variables)):
        variables[name].copy_(filled(name, stream, tuple(variables[name].shape)))
    return net


def short(number):
    return float(f"{number:.7g}")


def moments(tensor):
    tensor = tensor.double()
    return {"mean": short(tensor.mean()), "mean_square": short(tensor.square().mean())}


def case(stream, shape, train):
    net = network().train(train)
    stages = []
    for layer in (net.layer1, net.layer2, net.layer3, net.layer4):
        layer.register_forward_hook(lambda _, __, out: stages.append(moments(out)))
    features = net(image(stream, shape))
    last = net.layer4[1].bn2
    return {
        "stream": stream,
        "shape": shape,
        "train": train,
        "features": [[short(number) for number in row] for row in features.tolist()],
        "stages": stages,
        # Afterwards: training moves them.
        "running_mean": moments(last.running_mean),
        "running_var": moments(last.running_var),
    }


with torch.no_grad():
    cases = [
        case(1000, (2, 3, 64, 64), train=False),
        case(1001, (1, 3, 96, 96), train=False),
        case(1000, (2, 3, 64, 64), train=True),
    ]
versions = {"torch": torch.__version__, "torchvision": torchvision.__version__}
lines = ",\n".join(json.dumps(case) for case in cases)
print(f'{{"versions": {json.dumps(versions)}, "cases": [\n{lines}\n]}}')
