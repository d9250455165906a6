"""Twelve months of a shop, through the command alone.

Twenty classes of `awa43` are known by their attributes at the start. Photos come month by month, 1 to 40 of a class; old classes
return; three classes are added late, one is forgotten, and photos that were sorted into the wrong folder are corrected. After each
month the test photos of all classes of the catalogue are named by

* the shop: a project that learned what came, month by month,
* the base: the same without guesses, so with the classes that have photos alone,
* retraining: a new project each month that learns all photos so far at once, with the labels as they are known by then,
* logistic regression on the features of all photos so far, its penalty chosen on a fifth of them: what retraining would be with
  another classifier.

Test photos are brought with `--hold-out 1` when their class enters the catalogue: they are measured by, and never learned from. The
features of a photo are computed once.

    python twelve_months.py --prescient target/debug/prescient --data data/awa43 --work /tmp/shop --svg docs/pictures/shop.svg
"""

import argparse
import csv
import json
import random
import shutil
import struct
import subprocess
import zipfile
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

KNOWN, LATE = 20, 3
# How many classes get their first photos in each month; the late ones come in months 5, 8 and 10. With fewer than about eight classes to
# learn from, the closed form finds no evidence that guessing helps, and does not guess.
FIRST = [9, 2, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1]
ADDED = {5: 0, 8: 1, 10: 2}
PHOTOS = [1, 2, 5, 10, 20, 40]
FORGOTTEN, MISTAKEN, CORRECTED = 9, 6, 7


def arguments(**more):
    """What both scripts are told, and `more` numbers with what they are unless given."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prescient", type=Path, required=True, help="the command")
    parser.add_argument("--data", type=Path, required=True, help="the folder of awa43")
    parser.add_argument("--work", type=Path, required=True, help="a folder to work in, made anew")
    parser.add_argument("--order", default="order-1.txt", help="which classes, and in which order")
    parser.add_argument("--seed", type=int, default=1, help="of the months")
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--hold-out", type=int, default=5, help="of shop and base: every so-manieth photo; retraining holds out none")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--svg", type=Path, help="draw accuracy over months")
    for name, number in more.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    return parser.parse_args()


def schedule(classes, seed):
    """Month by month: the number of photos of each class that come."""
    draw = random.Random(seed)
    waiting = classes[:KNOWN]
    draw.shuffle(waiting)
    late = classes[KNOWN : KNOWN + LATE]
    months, known = [], []
    for month, count in enumerate(FIRST, start=1):
        if month in ADDED:
            waiting.insert(0, late[ADDED[month]])
        new, waiting = waiting[:count], waiting[count:]
        old = draw.sample(known, min(3, len(known)))
        sizes = [draw.choice(PHOTOS[3:] if month == 1 else PHOTOS) for _ in new]
        months.append(dict(zip(new, sizes)) | {name: draw.choice(PHOTOS) for name in old})
        known += new
    return months


class Shop:
    def __init__(self, options):
        self.options, self.work = options, options.work
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        with zipfile.ZipFile(options.data / "images.zip") as images:
            images.extractall(self.work / "awa43")
        self.photos = {
            side: {folder.name: sorted(folder.iterdir()) for folder in (self.work / "awa43" / side).iterdir()}
            for side in ("train", "test")
        }
        self.used = {}

    def run(self, *words):
        done = subprocess.run([self.options.prescient, *map(str, words)], cwd=self.work, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"prescient {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def table(self, classes, name):
        with open(self.options.data / "attributes.csv") as source, open(self.work / name, "w", newline="") as out:
            rows = list(csv.reader(source))
            writer = csv.writer(out)
            writer.writerows([rows[0]] + [row for row in rows if row[0] in classes])
        return name

    def new(self, project, table, *more):
        shutil.rmtree(self.work / project, ignore_errors=True)
        self.run("new", project, "--classes", table, "--size", self.options.size, *more)

    def deliver(self, folder, photos):
        """Photos into `folder/CLASS/`: pairs of a file and the class that somebody took it for."""
        for photo, name in photos:
            (self.work / folder / name).mkdir(parents=True, exist_ok=True)
            shutil.copy(photo, self.work / folder / name / f"{photo.parent.name}-{photo.name}")
        return folder

    def next_photos(self, name, count):
        begun = self.used.get(name, 0)
        self.used[name] = begun + count
        return self.photos["train"][name][begun : begun + count]

    def bring_tests(self, project, classes):
        """Test photos of `classes`, only to measure by."""
        folder = self.work / "tests" / f"{project}-{len(list(self.work.glob('tests/*')))}"
        folder.mkdir(parents=True)
        for name in classes:
            (folder / name).symlink_to(self.work / "awa43" / "test" / name)
        self.run("learn", project, folder, "--hold-out", 1)

    def measured(self, project, classes):
        """Right answers on the test photos of `classes`."""
        found = json.loads(self.run("status", project, "--format", "json"))["tested"]
        assert found["all"]["of"] == sum(len(self.photos["test"][name]) for name in classes), "every test photo once"
        return both(list(found["classes"].values()))


def both(tallies):
    """Right answers in percent, over photos and over classes: those have 11 to 40 test photos, and all count the same for the offset."""
    right, of = sum(tally["right"] for tally in tallies), sum(tally["of"] for tally in tallies)
    return 100 * right / of, 100 * sum(tally["right"] / tally["of"] for tally in tallies) / len(tallies)


def features(path):
    """A file of features: the digests of the photos, and a row for each."""
    data = Path(path).read_bytes()
    width, count = struct.unpack("<QQ", data[8:24])
    rows = np.frombuffer(data, dtype="<f4", offset=56 + 32 * count).reshape(count, width)
    return rows.astype(np.float64)


def logistic(shop, project, classes):
    """Logistic regression on what a project has learned, measured on its test photos."""
    folder = sorted((shop.work / project / "versions").iterdir())[-1]
    version = json.loads((folder / "version.json").read_text())
    seen = [entry for entry in version["classes"] if entry.get("features")]
    rows = [features(folder / entry["features"]) for entry in seen]
    x, y = np.concatenate(rows), np.repeat(np.arange(len(seen)), [len(part) for part in rows])
    mean, scale = x.mean(0), x.std(0).mean() + 1e-9
    x = (x - mean) / scale

    def fit(x, y, penalty):
        ones = np.eye(len(seen))[y]

        def loss(flat):
            w, b = flat[: -len(seen)].reshape(x.shape[1], -1), flat[-len(seen) :]
            z = x @ w + b
            z -= z.max(1, keepdims=True)
            p = np.exp(z)
            p /= p.sum(1, keepdims=True)
            value = -np.log(p[np.arange(len(y)), y] + 1e-30).mean() + penalty * (w**2).sum()
            d = (p - ones) / len(y)
            return value, np.concatenate([(x.T @ d + 2 * penalty * w).ravel(), d.sum(0)])

        start = np.zeros(x.shape[1] * len(seen) + len(seen))
        flat = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
        return flat[: -len(seen)].reshape(x.shape[1], -1), flat[-len(seen) :]

    held = np.arange(len(y)) % 5 == 4
    best = None
    for penalty in [1e-5, 1e-4, 1e-3, 1e-2]:
        w, b = fit(x[~held], y[~held], penalty)
        right = ((x[held] @ w + b).argmax(1) == y[held]).mean()
        if best is None or right > best[0]:
            best = (right, penalty)
    w, b = fit(x, y, best[1])
    tallies = []
    names = [entry["name"] for entry in seen]
    for entry in version["classes"]:
        if entry["name"] in classes and entry.get("tested_features"):
            test = features(folder / entry["tested_features"])
            answers = ((test - mean) / scale @ w + b).argmax(1)
            own = names.index(entry["name"]) if entry["name"] in names else -1
            tallies.append({"right": int((answers == own).sum()), "of": len(test)})
    return both(tallies)


def play(options):
    shop = Shop(options)
    order = (options.data / options.order).read_text().split()
    classes = order[: KNOWN + LATE]
    months = schedule(classes, options.seed)
    catalogue = set(classes[:KNOWN])
    table = shop.table(catalogue, "classes.csv")
    hold_out = ("--hold-out", options.hold_out)
    shop.new("shop", table, *hold_out)
    shop.new("base", table, "--no-guesses", *hold_out)
    for project in ("shop", "base"):
        shop.bring_tests(project, sorted(catalogue))
    everything, photographed, rows = [], set(), []
    mistaken = []
    for month, brought in enumerate(months[: options.months], start=1):
        events = []
        more = ()
        if month in ADDED:
            name = classes[KNOWN + ADDED[month]]
            catalogue.add(name)
            more = ("--classes", shop.table(catalogue, f"classes-{month}.csv"))
            events.append(f"{name} is new in the catalogue")
        photos = [(photo, name) for name, count in brought.items() if name in catalogue for photo in shop.next_photos(name, count)]
        if month == MISTAKEN:
            # Somebody put three photos of one class into the folder of another.
            (wrong, count), (other, _) = sorted(brought.items(), key=lambda item: -item[1])[:2]
            mistaken = [(photo, name) for photo, name in photos if name == wrong][: max(3, count // 4)]
            photos = [(photo, other if (photo, name) in mistaken else name) for photo, name in photos]
            events.append(f"{len(mistaken)} photos of {wrong} are taken for {other}")
        if month == CORRECTED and mistaken:
            photos += mistaken
            corrected = {photo for photo, _ in mistaken}
            everything = [(photo, name) for photo, name in everything if photo not in corrected]
            events.append(f"{len(mistaken)} photos are corrected")
        folder = shop.deliver(f"photos/month_{month:02}", photos)
        everything += photos
        photographed |= {name for _, name in photos}
        for project in ("shop", "base"):
            shop.run("learn", project, folder, *more)
            if month in ADDED:
                shop.bring_tests(project, [classes[KNOWN + ADDED[month]]])
        if month == FORGOTTEN:
            name = sorted(photographed)[0]
            for project in ("shop", "base"):
                shop.run("forget", project, name)
            catalogue.discard(name)
            photographed.discard(name)
            everything = [(photo, label) for photo, label in everything if label != name]
            events.append(f"{name} is forgotten")
        shutil.rmtree(shop.work / "all", ignore_errors=True)
        table = shop.table(catalogue, "now.csv")
        shop.new("again", table, "--hold-out", 0)
        shop.bring_tests("again", sorted(catalogue))
        shop.run("learn", "again", shop.deliver("all", everything))
        row = {
            "month": month,
            "classes": len(catalogue),
            "photographed": len(photographed),
            "photos": len(everything),
            "events": "; ".join(events),
        }
        found = {key: shop.measured(project, catalogue) for key, project in PROJECTS}
        found["logistic"] = logistic(shop, "again", catalogue)
        row |= {key: over_photos for key, (over_photos, _) in found.items()}
        row |= {f"{key}_classes": over_classes for key, (_, over_classes) in found.items()}
        rows.append(row)
        print(" ".join(f"{key} {value:.1f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()), flush=True)
    return rows


def verdict(rows):
    guessing = [row for row in rows if row["photographed"] < row["classes"]]
    for over, end in [("photos", ""), ("classes", "_classes")]:
        below = max(max(row["retrained" + end], row["logistic" + end]) - row["shop" + end] for row in rows)
        above = [row["shop" + end] - row["base" + end] for row in guessing]
        print(
            f"over {over}: at most {below:.1f} points below retraining (the better of both); in {len(guessing)} months with"
            f" unphotographed classes {min(above):.1f} to {max(above):.1f} points above the base, {sum(above) / len(above):.1f} on average"
        )


def draw(rows, path):
    width, height, left, right, top, bottom = 640, 320, 44, 150, 28, 46
    low = 10 * int(min(min(row["base"], row["logistic"]) for row in rows) // 10)
    x = lambda month: left + 14 + (width - left - right - 28) * (month - 1) / max(1, len(rows) - 1)
    y = lambda value: height - bottom - (height - top - bottom) * (value - low) / (100 - low)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        "<title>Accuracy over twelve months</title>",
        "<desc>Right answers on test photos of all classes of the catalogue, month by month: "
        + "; ".join(f"{name} from {rows[0][key]:.1f} to {rows[-1][key]:.1f} %" for key, name, *_ in LINES)
        + ".</desc>",
        '<style>text{font:12px system-ui,"Segoe UI",Arial,"DejaVu Sans",sans-serif;fill:#1b1f24}.f{fill:#5c646d;font-size:10.5px}'
        "path{fill:none;stroke-width:2.2;stroke-linejoin:round}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text class="f" x="{width / 2:.0f}" y="{top - 12}" text-anchor="middle">right answers on test photos of all classes of the catalogue</text>',
    ]
    for value in range(low, 101, 10):
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#d5d9de"/>')
        out.append(f'<text class="f" x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
    out.append(f'<text class="f" x="{left - 6}" y="{top - 12}" text-anchor="end">%</text>')
    for row in rows:
        out.append(f'<text class="f" x="{x(row["month"]):.1f}" y="{height - bottom + 16}" text-anchor="middle">{row["month"]}</text>')
        share = f'{row["photographed"]}/{row["classes"]}'
        out.append(f'<text class="f" x="{x(row["month"]):.1f}" y="{height - bottom + 30}" text-anchor="middle">{share}</text>')
    out.append(f'<text class="f" x="{width - right + 8}" y="{height - bottom + 16}">month</text>')
    out.append(f'<text class="f" x="{width - right + 8}" y="{height - bottom + 30}">photographed</text>')
    ends = []
    for key, name, colour, dashes in LINES:
        points = " ".join(f'{"M" if row is rows[0] else "L"}{x(row["month"]):.1f} {y(row[key]):.1f}' for row in rows)
        out.append(f'<path d="{points}" stroke="{colour}"{dashes}/>')
        if key != "retrained":
            out += [f'<circle cx="{x(row["month"]):.1f}" cy="{y(row[key]):.1f}" r="3" fill="{colour}"/>' for row in rows]
        ends.append([y(rows[-1][key]), name, colour])
    ends.sort()
    for before, after in zip(ends, ends[1:]):
        after[0] = max(after[0], before[0] + 14)
    for place, name, colour in ends:
        out.append(f'<text x="{width - right + 8}" y="{place + 4:.1f}" style="fill:{colour};font-weight:600">{name}</text>')
    path.write_text("\n".join(out + ["</svg>"]) + "\n")


PROJECTS = [("shop", "shop"), ("base", "base"), ("retrained", "again")]
LINES = [
    ("retrained", "retrained on all", "#8b919b", ' style="stroke-width:9;stroke-opacity:.4;stroke-linecap:round"'),
    ("logistic", "logistic regression", "#bd1f01", ' stroke-dasharray="2 4"'),
    ("base", "base, no guesses", "#e08e00", ""),
    ("shop", "shop", "#3f90da", ""),
]


if __name__ == "__main__":
    options = arguments()
    options.prescient = options.prescient.resolve()
    rows = play(options)
    verdict(rows)
    (options.work / "months.json").write_text(json.dumps(rows, indent=1))
    if options.svg:
        draw(rows, options.svg)
