"""Features of a drawn image by torchvision's networks, for `tests/pretrained.rs`.

    python3 -P pretrained.py ~/.cache/prescient/weights

ResNets take weights that are computed, here as there; MobileNetV2 and EfficientNet-Lite0 take their published ones. The latter
comes from the package `efficientnet-lite-pytorch`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import torchvision
from efficientnet_lite_pytorch import EfficientNet

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def image(size):
    """Waves of a period of their own in each channel, [1, 3, size, size], normalized as ImageNet."""
    y, x = np.mgrid[0:size, 0:size].astype(np.float64)
    planes = [0.5 + 0.25 * np.sin(x / (5 + c)) + 0.25 * np.cos(y / (7 + 2 * c)) for c in range(3)]
    planes = [(plane - MEAN[c]) / STD[c] for c, plane in enumerate(planes)]
    return torch.tensor(np.stack(planes)[None], dtype=torch.float32)


def noise(stream, count):
    x = (np.arange(count, dtype=np.uint64) * 2_654_435_761 + stream * 40_503) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return (x ^ (x >> 16)).astype(np.float64) / 2.0**32 - 0.5


def filled(name, stream, shape):
    values = noise(stream, int(np.prod(shape)))
    if len(shape) > 1:
        values = values * 2 * np.sqrt(6 / np.prod(shape[1:]))
    elif name.endswith("running_var") or name.endswith("weight"):
        values = values + 1
    else:
        values = values * 0.2
    return torch.tensor(values.reshape(shape), dtype=torch.float32)


def computed(model):
    names = sorted(name for name in model.state_dict() if "num_batches" not in name and not name.startswith("fc."))
    state = {name: filled(name, stream, tuple(model.state_dict()[name].shape)) for stream, name in enumerate(names)}
    model.load_state_dict(state, strict=False)
    return model


def resnet(model, x):
    model.fc = torch.nn.Identity()
    return model.eval()(x)


with torch.no_grad():
    mobile = torchvision.models.mobilenet_v2()
    mobile.load_state_dict(torch.load(Path(sys.argv[1]) / "mobilenet-v2/mobilenet_v2-b0353104.pth"))
    mobile.eval()

    def lite(size):
        model = EfficientNet.from_name("efficientnet-lite0", image_size=size)
        model.load_state_dict(torch.load(Path(sys.argv[1]) / "efficientnet-lite0/efficientnet-lite0-57934424.pth"))
        return model.eval().extract_features(image(size)).mean([2, 3])[0].tolist()

    cases = {
        "mobilenet-v2": {size: mobile.features(image(size)).mean([2, 3])[0].tolist() for size in (224, 96)},
        "efficientnet-lite0": {size: lite(size) for size in (224, 96)},
        "resnet50": {64: resnet(computed(torchvision.models.resnet50()), image(64))[0].tolist()},
    }
rounded = {kind: {size: [float(f"{v:.7g}") for v in row] for size, row in rows.items()} for kind, rows in cases.items()}
Path(__file__).with_suffix(".json").write_text(json.dumps(rounded, separators=(",", ":")) + "\n")
