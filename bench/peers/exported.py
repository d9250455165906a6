"""Whether exported models answer as `prescient predict` does, photo by photo.

    prescient export RUN --to onnx --out onnx
    prescient export RUN --to torchscript --out pt
    python exported.py --prescient target/debug/prescient --model RUN --photos PHOTOS onnx pt

Each folder's own `predict.py` reads the photos with Pillow and asks the model, so it is the folder that is tested, not this script.
Three comparisons, from the narrowest to the widest:

    pixels   both get the same pixels: the photos as Pillow cut and scaled them, as PNGs
    resize   both get the same decoded photo, as a PNG, and scale it themselves
    photo    both get the file

Where photos lie in folders named after their classes, the share that is right is shown for both. Exits with 1 unless the best class of all
`pixels` is the same, scores to 1e-3, and another class for a `photo` is a close call: Pillow and prescient decode JPEGs with different libraries.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
from PIL import Image, ImageOps

# A class that leads by less, in probability, is a close call.
CLOSE = 0.05
ENDINGS = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prescient", default="prescient", help="the command")
    parser.add_argument("--model", required=True, help="what was exported: a run, a task, a project")
    parser.add_argument("--photos", required=True, type=Path, help="a folder of photos")
    parser.add_argument("--most", type=int, default=100_000, help="take so many photos at most")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="how far scores may be apart on the same pixels")
    parser.add_argument("exported", nargs="+", type=Path, help="folders that `prescient export` wrote")
    return parser.parse_args()


def module(folder):
    """A folder's `predict.py`."""
    about = importlib.util.spec_from_file_location(f"predict_{folder.name}", folder / "predict.py")
    loaded = importlib.util.module_from_spec(about)
    about.loader.exec_module(loaded)
    return loaded


def ours(args, paths, labels):
    """Probabilities and scores of `prescient predict`, [photos, classes] each, classes in the order of `labels`."""
    command = [args.prescient, "predict", args.model, "-", "--device", "cpu", "--format", "jsonl", "--top", "1000000"]
    names = "\n".join(str(path) for path in paths)
    lines = subprocess.run(command, input=names, capture_output=True, text=True, check=True).stdout.splitlines()
    place = {label["class"]: index for index, label in enumerate(labels)}
    found = numpy.full((2, len(paths), len(labels)), numpy.nan)
    for row, line in enumerate(lines):
        for guess in json.loads(line)["predictions"]:
            found[:, row, place[guess["class"]]] = guess["probability"], guess["score"]
    assert len(lines) == len(paths) and not numpy.isnan(found).any(), "an answer for every photo and class"
    return found


def theirs(predict, paths):
    began, found = time.perf_counter(), [[], []]
    for _, batch in predict.batches([str(path) for path in paths]):
        for all_rows, rows in zip(found, predict.answer(batch)):
            all_rows.append(rows)
    found = numpy.array([numpy.concatenate(rows) for rows in found])
    return found, len(paths) / (time.perf_counter() - began)


def right(answers, truth):
    """The share of right answers; `?` where the folders of photos are not called after classes."""
    return f"{100 * (answers[1].argmax(1) == truth).mean():.1f} %" if (truth >= 0).all() else "?"


def main():
    args = arguments()
    photos = sorted(path for path in args.photos.rglob("*") if path.suffix.lower() in ENDINGS)[: args.most]
    models = {folder.name: module(folder) for folder in args.exported}
    first = next(iter(models.values()))
    labels = first.LABELS
    fails = []
    with tempfile.TemporaryDirectory() as folder:
        cut, whole = ([Path(folder) / f"{kind}-{index:06}.png" for index in range(len(photos))] for kind in ("cut", "whole"))
        for photo, one, other in zip(photos, cut, whole):
            pixels = first.read(photo)
            Image.fromarray(pixels if pixels.shape[2] == 3 else pixels[:, :, 0]).save(one)
            ImageOps.exif_transpose(Image.open(photo)).save(other)
        kinds = [("resize", whole), ("photo", photos)]
        if first.INPUT["size"] == first.INPUT["resize"]:
            kinds.insert(0, ("pixels", cut))
        print(f"{len(photos)} photos, {len(labels)} classes, {sum(label['seen'] for label in labels)} of them seen\n")
        print("| folder | compared | the same class | scores differ by at most | probabilities by at most | on average | right: ours | theirs | photos/s |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        places = {label["class"]: place for place, label in enumerate(labels)}
        truth = numpy.array([places.get(photo.parent.name, -1) for photo in photos])
        for compared, paths in kinds:
            expected = ours(args, paths, labels)
            for name, predict in models.items():
                found, speed = theirs(predict, paths)
                same = found[1].argmax(1) == expected[1].argmax(1)
                apart = numpy.abs(found - expected)
                print(
                    f"| {name} | {compared} | {same.sum()} of {len(same)} | {apart[1].max():.2g} | {apart[0].max():.2g} "
                    f"| {apart[0].mean():.2g} | {right(expected, truth)} | {right(found, truth)} | {speed:.0f} |"
                )
                if compared == "pixels" and not (same.all() and apart[1].max() <= args.tolerance):
                    fails.append(f"{name}: other answers for the same pixels")
                best = numpy.sort(expected[0], 1)
                for row in numpy.flatnonzero(~same):
                    gap = best[row, -1] - best[row, -2]
                    print(f"  {paths[row].name}: another class; ours leads by {100 * gap:.2f} points of probability", file=sys.stderr)
                    if gap > CLOSE:
                        fails.append(f"{name}, {paths[row].name}: another class, and no close call")
    print("\n".join(fails), file=sys.stderr)
    sys.exit(1 if fails else 0)


if __name__ == "__main__":
    main()
