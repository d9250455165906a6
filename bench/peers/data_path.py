"""How many images a second torchvision gets from JPEGs to batches for training: one epoch a round. An item is an image.

Decode, RandomResizedCrop, flip, to float, normalize, batch. Reads a folder `DIR/CLASS/*.jpg`; with `--source PX`, a folder that
is not there yet is filled with made-up photos of PX by PX pixels first.

    python data_path.py --root DIR --size 64 --batch 128 --workers 2 --source 224
    python data_path.py --root DIR --size 64 --batch 128 --workers 2 --v2
    python data_path.py --root DIR --size 64 --batch 128 --workers 2 --v2 --keep       decodes once, before the first round
    python data_path.py --root DIR/train --source 224 --write      only makes up DIR/train, and DIR/test for ours
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

import peer

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=Path, metavar="DIR", required=True)
    parser.add_argument("--size", type=int, default=64, help="the side of an image after the crop")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--v2", action="store_true", help="torchvision.transforms.v2, on bytes until the end")
    parser.add_argument("--keep", action="store_true", help="decode all images once and keep them as bytes (with --v2)")
    parser.add_argument("--source", type=int, metavar="PX", help="make up a folder that is not there")
    parser.add_argument("--classes", type=int, default=10, help="of a folder made up")
    parser.add_argument("--images", type=int, default=200, help="of each class made up")
    parser.add_argument("--write", action="store_true", help="make up the folder, and `test` beside it, and end")
    return parser.parse_args()


def made_up(size, rng):
    """Noise with the spectrum of photos, 1/f, and less color than light: JPEG then works as hard as on a photo."""
    frequencies = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size))
    frequencies[0, 0] = np.inf
    planes = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((4, size, size))) / frequencies**1.2, (size, size))
    light, *colors = planes / planes.std((1, 2), keepdims=True)
    pixels = 128 + 50 * (light[..., None] + 0.3 * np.stack(colors, -1))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def make_up(root, size, classes, images):
    rng = np.random.default_rng(0)
    # Renamed at the end: a folder that is there is whole.
    unfinished = root.with_name(root.name + ".tmp")
    for number in range(classes):
        folder = unfinished / f"class{number:02}"
        folder.mkdir(parents=True, exist_ok=True)
        for image in range(images):
            made_up(size, rng).save(folder / f"{image:04}.jpg", quality=90)
    unfinished.rename(root)


def decoded(path):
    return decode_image(path, ImageReadMode.RGB)


class Kept(Dataset):
    """The images of a folder as tensors of bytes in memory, which the workers share; transformed at each look."""

    def __init__(self, folder):
        self.images = [(folder.loader(path), target) for path, target in folder.samples]
        self.transform = folder.transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, target = self.images[index]
        return self.transform(image), target


def dataset(args):
    if not args.v2:
        steps = [v1.RandomResizedCrop(args.size), v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize(MEAN, STD)]
        return ImageFolder(args.root, v1.Compose(steps))
    crop, to_float = v2.RandomResizedCrop(args.size, antialias=True), v2.ToDtype(torch.float32, scale=True)
    steps = [crop, v2.RandomHorizontalFlip(), to_float, v2.Normalize(MEAN, STD)]
    folder = ImageFolder(args.root, v2.Compose(steps), loader=decoded)
    return Kept(folder) if args.keep else folder


def main():
    args = arguments()
    torch.manual_seed(0)
    if args.source and not args.root.exists():
        make_up(args.root, args.source, args.classes, args.images)
    if args.write:
        make_up(args.root.with_name("test"), args.source, args.classes, 1)
        return
    workers = {"num_workers": args.workers, "persistent_workers": args.workers > 0}
    loader = DataLoader(dataset(args), args.batch, shuffle=True, **workers)

    def epoch():
        return sum(len(images) for images, _ in loader)

    epoch()
    peer.serve(epoch)


if __name__ == "__main__":
    main()
