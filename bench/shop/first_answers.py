"""How often a new project guesses at once, and how well: twelve animals of `awa43` described by a sentence each, eight with 25 photos.

Classes and photos are drawn anew for each seed. Photos of the four others are test photos, twenty of each at most.

    python first_answers.py --prescient target/release/prescient --data data/awa43 --work /tmp/first --draws 8
"""

import argparse
import collections
import csv
import io
import json
import pathlib
import random
import shutil
import subprocess
import zipfile

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--prescient", type=pathlib.Path, required=True)
parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder `awa43`")
parser.add_argument("--work", type=pathlib.Path, required=True, help="a folder of its own: it is emptied")
parser.add_argument("--draws", type=int, default=8)
parser.add_argument("--photographed", type=int, default=8)
options = parser.parse_args()

images = zipfile.ZipFile(options.data / "images.zip")
photos = {"train": collections.defaultdict(list), "test": collections.defaultdict(list)}
for name in images.namelist():
    if name.endswith(".jpg"):
        side, animal, _ = name.split("/")
        photos[side][animal].append(name)
described = {row["class"]: row["description"] for row in csv.DictReader(open(options.data / "descriptions.csv"))}


def write(folder, names):
    folder.mkdir(parents=True)
    for name in names:
        (folder / name.split("/")[2]).write_bytes(images.read(name))


guessing, right, of = 0, 0, 0
for seed in range(options.draws):
    draw, place = random.Random(seed), options.work / str(seed)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    run = lambda *words: subprocess.run([options.prescient.resolve(), *words], cwd=place, check=True, capture_output=True, text=True).stdout
    animals = draw.sample(sorted(photos["train"]), options.photographed + 4)
    with open(place / "classes.csv", "w", newline="") as table:
        csv.writer(table).writerows([["class", "description"]] + [[animal, described[animal]] for animal in sorted(animals)])
    for animal in animals[: options.photographed]:
        write(place / "photos" / animal, draw.sample(photos["train"][animal], 25))
    run("new", "shop", "--classes", "classes.csv")
    run("learn", "shop", "photos")
    guesses = json.loads(run("status", "shop", "--format", "json"))["worth"]["guesses"]
    found = {}
    for animal in animals[options.photographed :] if guesses else []:
        write(place / "asked" / animal, photos["test"][animal][:20])
        answers = list(csv.DictReader(io.StringIO(run("predict", "shop", f"asked/{animal}", "--top", "1", "--format", "csv"))))
        found[animal] = (sum(answer["class"] == animal for answer in answers), len(answers))
    guessing += guesses
    right, of = right + sum(one for one, _ in found.values()), of + sum(all for _, all in found.values())
    print(f"draw {seed}:", "guesses" if guesses else "does not guess", ", ".join(f"{animal} {one} of {all}" for animal, (one, all) in found.items()), flush=True)
print(f"guesses in {guessing} of {options.draws} draws; of photos of classes without photos {right} of {of} are named right")
