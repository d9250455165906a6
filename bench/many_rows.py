"""A million features in ten thousand classes, drawn, and a recipe that learns them in closed form through the command.

    python bench/many_rows.py FOLDER
    prescient run FOLDER/recipe.toml --seed 1 --no-check --out FOLDER/run

Needs numpy. `--photos`, `--classes` and `--width` draw fewer; the arrays take 4 bytes a number.
"""

import argparse
import pathlib

import numpy as np

CHUNK = 50_000

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--photos", type=int, default=1_000_000)
parser.add_argument("--classes", type=int, default=10_000)
parser.add_argument("--width", type=int, default=512)
options = parser.parse_args()

folder, shape = options.folder, (options.classes, options.width)
folder.mkdir(parents=True, exist_ok=True)
random = np.random.default_rng(1)
means = random.standard_normal(shape, dtype=np.float32)
# Classes come in turns, so that every chunk has photos of thousands.
labels = np.arange(options.photos) % options.classes
rows = np.lib.format.open_memmap(folder / "train.npy", mode="w+", dtype="<f4", shape=(options.photos, options.width))
for start in range(0, options.photos, CHUNK):
    some = labels[start : start + CHUNK]
    rows[start : start + CHUNK] = means[some] + random.standard_normal((len(some), options.width), dtype=np.float32)
rows.flush()
np.save(folder / "test.npy", means + random.standard_normal(shape, dtype=np.float32))
np.save(folder / "train-labels.npy", labels)
np.save(folder / "test-labels.npy", np.arange(options.classes))
(folder / "classes.txt").write_text("".join(f"class {number:05}\n" for number in range(options.classes)))
(folder / "recipe.toml").write_text(
    f"""data = {{ kind = "features", path = "{folder.resolve()}" }}
scenario = {{ split = "{options.classes}" }}
learner = {{ kind = "closed-form" }}
model.extractor = {{ kind = "identity" }}
"""
)
