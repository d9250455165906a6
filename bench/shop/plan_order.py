"""Whether following `prescient plan` beats photographing in random order, on `awa43`, through the command alone.

All 43 classes are described by their attributes; 15 have 20 photos each. In each round photos of some classes come, as many of
each: of the classes that the plan puts first, or of unphotographed classes drawn at random (and, when none is left, of those with
fewest photos). After each round all test photos are named; they were learned with `--hold-out 1`, so they are measured by and never
learned from.

    python plan_order.py --prescient target/release/prescient --data data/awa43 --work /tmp/plan --rounds 10 --draws 5
"""

import json
import random
import shutil

from twelve_months import Shop, arguments, both


def status(shop, project):
    return json.loads(shop.run("status", project, "--format", "json"))


def accuracy(shop, project):
    """Over classes: for the plan all count the same."""
    return both(list(status(shop, project)["tested"]["classes"].values()))[1]


def by_plan(shop, project, count, _):
    plan = json.loads(shop.run("plan", project, "--format", "json"))
    return [entry["class"] for entry in plan["classes"][:count]]


def at_random(shop, project, count, draw):
    classes = status(shop, project)["classes"]
    draw.shuffle(classes)
    return [entry["name"] for entry in sorted(classes, key=lambda entry: entry["photos"])[:count]]


def play(shop, project, choose, seed, rounds, count, photos):
    shutil.rmtree(shop.work / project, ignore_errors=True)
    shutil.copytree(shop.work / "start", shop.work / project)
    shop.used = dict(shop.used_at_start)
    draw, found, chosen = random.Random(seed), [], []
    for _ in range(rounds):
        names = choose(shop, project, count, draw)
        chosen.append(names)
        brought = [(photo, name) for name in names for photo in shop.next_photos(name, photos)]
        shutil.rmtree(shop.work / "next", ignore_errors=True)
        shop.run("learn", project, shop.deliver("next", brought), "--hold-out", 0)
        found.append(accuracy(shop, project))
    return found, chosen


if __name__ == "__main__":
    options = arguments(rounds=10, draws=5)
    options.prescient = options.prescient.resolve()
    shop = Shop(options)
    order = (options.data / options.order).read_text().split()
    table = shop.table(set(order), "classes.csv")
    shop.new("start", table, "--hold-out", 0)
    photos = [(photo, name) for name in order[:15] for photo in shop.next_photos(name, 20)]
    shop.run("learn", "start", shop.deliver("first", photos))
    shop.run("learn", "start", "awa43/test", "--hold-out", 1)
    shop.used_at_start = dict(shop.used)
    print(f"start {accuracy(shop, 'start'):.1f}", flush=True)
    rounds, count, each = options.rounds, 2, 10
    planned, chosen = play(shop, "planned", by_plan, 0, rounds, count, each)
    print("plan   ", " ".join(f"{value:.1f}" for value in planned), "mean", f"{sum(planned) / rounds:.2f}", flush=True)
    print("chose  ", "; ".join(", ".join(names) for names in chosen), flush=True)
    means = []
    for seed in range(options.draws):
        drawn, _ = play(shop, "random", at_random, options.seed + seed, rounds, count, each)
        means.append(sum(drawn) / rounds)
        print(f"random {seed + 1}", " ".join(f"{value:.1f}" for value in drawn), "mean", f"{means[-1]:.2f}", flush=True)
    print(f"plan {sum(planned) / rounds:.2f}, random {sum(means) / len(means):.2f} ({min(means):.2f} to {max(means):.2f})")
