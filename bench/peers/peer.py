"""What the peers share: how they are asked for a round, and how a round is timed.

A peer is started once and sets itself up, warm-up included. It then says `ready` and, for each line on stdin, runs one
round and answers with one line of JSON, `{"seconds": S, "items": N}`. The end of stdin ends it. So a harness can take turns
between several programs, and none of them is measured while it starts. To try one by hand:

    yes "" | head -n 5 | python mmd.py
"""

import json
import sys
import time

import torch


def synchronize(device):
    """Waits until the device has done all that it was given."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def serve(work, device="cpu"):
    """Runs `work`, which returns how many items it went through, once for each line on stdin."""
    synchronize(device)
    print("ready", flush=True)
    for _ in sys.stdin:
        synchronize(device)
        began = time.perf_counter()
        items = work()
        synchronize(device)
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "items": items}), flush=True)


def repeated(step, count, items):
    """A round of `count` steps of `items` items each, already warm."""

    def work():
        for _ in range(count):
            step()
        return count * items

    # The first builds what is built once, the others settle caches and the choice of kernels.
    for _ in range(3):
        step()
    return work
