"""The networks of the peers: ours, layer by layer, in plain PyTorch (`src/model/`).

An extractor returns features `[batch, width]` and the maps of its stages, for POD.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, relu):
        super().__init__()
        self.conv1, self.bn1 = convolution(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = convolution(outputs, outputs, 3), nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        self.relu = relu
        nn.init.zeros_(self.bn2.weight)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return F.relu(out, inplace=True) if self.relu else out


class ResNet18(nn.Module):
    """With a 3×3 stem, and no ReLU after the last block of a stage."""

    channels, mean, std = 3, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

    def __init__(self, width=64):
        super().__init__()
        self.width = 8 * width
        self.conv1, self.bn1 = convolution(self.channels, width, 3), nn.BatchNorm2d(width)
        self.stages = nn.ModuleList()
        for stage in range(4):
            outputs = width << stage
            inputs, stride = (width, 1) if stage == 0 else (outputs // 2, 2)
            first, second = Block(inputs, outputs, stride, relu=True), Block(outputs, outputs, 1, relu=False)
            self.stages.append(nn.Sequential(first, second))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        x = F.max_pool2d(x, 3, stride=2, padding=1)
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        return F.adaptive_avg_pool2d(x, 1).flatten(1), maps


class SmallCnn(nn.Module):
    """For MNIST: two convolutions and a linear layer. The maps are those before ReLU."""

    channels, mean, std = 1, (0.1307,), (0.3081,)

    def __init__(self, size=28, width=64):
        super().__init__()
        self.width = width
        self.conv1 = nn.Conv2d(self.channels, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        self.linear = nn.Linear(64 * (size // 4) ** 2, width)

    def forward(self, x):
        first = self.conv1(x)
        second = self.conv2(F.max_pool2d(F.relu(first), 2))
        return self.linear(F.max_pool2d(F.relu(second), 2).flatten(1)), [first, second]


class CosineClassifier(nn.Module):
    """Similarities times the scale η = softplus(ρ), which starts at 1."""

    def __init__(self, classes, width):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(classes, width) / math.sqrt(width))
        self.raw_scale = nn.Parameter(torch.tensor(math.log(math.e - 1)))

    def forward(self, features):
        return F.softplus(self.raw_scale) * F.linear(F.normalize(features), F.normalize(self.proxies))


class Generator(nn.Sequential):
    """A GMMN: attributes and noise in, features out."""

    def __init__(self, inputs, hidden, width):
        layers = nn.Linear(inputs, hidden), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(hidden, width)
        super().__init__(*layers)
        for layer in (layers[0], layers[-1]):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.zeros_(layer.bias)
