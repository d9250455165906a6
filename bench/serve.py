"""Our service beside a FastAPI + PyTorch service with the same network, in turns: rate, p50 and p99 at 1, 8 and 64 clients.

    python bench/serve.py --model RUN --photos a.jpg b.jpg … --peer-python /path/to/python > page.md

`--model` is a finished run of the closed form on MobileNetV2, such as `prescient run awa43-closed`. The peer runs in two ways, and the better
one of each turn is compared: one process with all threads of libtorch, and a process for each core with one thread. Only this machine is asked, and
every part is bounded in time.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, required=True, help="a run of the closed form on MobileNetV2")
    parser.add_argument("--photos", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--peer-python", default=sys.executable, help="with torch 2.11, torchvision, fastapi, uvicorn")
    parser.add_argument("--target", type=pathlib.Path, default=ROOT / "target/release", help="where our programs are")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--plain", action="store_true", help="the peer leaves the mirror image out: half of our work")
    return parser.parse_args()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Service:
    """A server process, up and answering."""

    def __init__(self, name, command, port, **variables):
        self.name, self.port = name, port
        environment = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"} | variables
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).read()
                return
            except OSError:
                assert self.process.poll() is None, f"{name} does not start"
                time.sleep(0.1)
        raise SystemExit(f"{name} does not start")

    def load(self, tool, photos, clients, seconds):
        command = [tool, "load", f"127.0.0.1:{self.port}", *photos, "--clients", clients, "--seconds", seconds, "--most", 20_000]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds + 120)
        assert done.returncode == 0, f"{self.name}: {done.stderr}"
        return json.loads(done.stdout)

    def peak(self):
        """The most memory of the process and its children, in MB."""
        ids, total = [self.process.pid], 0
        for process in ids:
            children = pathlib.Path(f"/proc/{process}/task/{process}/children")
            ids.extend(int(child) for child in children.read_text().split())
            status = pathlib.Path(f"/proc/{process}/status").read_text()
            total += next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        return total / 1000

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def peer(args, name, workers, threads):
    port, tasks = free_port(), sorted((args.model / "tasks").iterdir())
    task = next(task for task in reversed(tasks) if (task / "predictor.json").exists())
    command = [args.peer_python, "-m", "uvicorn", "--app-dir", ROOT / "bench/peers", "serve_peer:app", "--port", port]
    command += ["--workers", workers, "--no-access-log", "--log-level", "warning"]
    variables = {"PEER_MODEL": str(task), "PEER_THREADS": str(threads), "PEER_PLAIN": "1" if args.plain else "0"}
    return Service(name, [str(word) for word in command], port, **variables)


def answers(service, photo):
    """The most probable class and its probability: both services must say the same."""
    request = urllib.request.Request(f"http://127.0.0.1:{service.port}/predict", photo.read_bytes(), {"Content-Type": "image/jpeg"})
    best = json.load(urllib.request.urlopen(request, timeout=60))["photos"][0]["predictions"][0]
    return best["class"], best["probability"]


def main():
    args = arguments()
    cores, port = os.cpu_count(), free_port()
    ours = [str(args.target / "prescient"), "serve", str(args.model), "--device", "cpu", "--port", str(port)]
    services = [
        Service("ours", ours, port),
        peer(args, f"FastAPI, 1 process, {cores} threads", 1, cores),
        peer(args, f"FastAPI, {cores} processes, 1 thread each", cores, 1),
    ]
    tool = args.target / "prescient-bench"
    try:
        same = [answers(services[0], photo)[0] == answers(services[1], photo)[0] for photo in args.photos]
        print(f"The most probable class is the same for {sum(same)} of {len(same)} photos.\n", flush=True)
        for service in services:
            service.load(tool, args.photos, 8, 2)
        print("| clients | service | requests/s | p50 | p99 | ours over the better peer (least to most) |")
        print("| --- | --- | --- | --- | --- | --- |")
        for clients in args.clients:
            turns = []
            for turn in range(args.turns):
                # Whoever is first in one turn is last in another.
                order = services[turn % 3 :] + services[: turn % 3]
                found = {service.name: service.load(tool, args.photos, clients, args.seconds) for service in order}
                turns.append(found)
            middle = lambda name, key: statistics.median(turn[name][key] for turn in turns)
            ratios = sorted(turn["ours"]["rate"] / max(turn[s.name]["rate"] for s in services[1:]) for turn in turns)
            for service in services:
                shown = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})" if service.name == "ours" else ""
                rate, p50, p99 = (middle(service.name, key) for key in ("rate", "p50_ms", "p99_ms"))
                print(f"| {clients} | {service.name} | {rate:.1f} | {p50:.0f} ms | {p99:.0f} ms | {shown} |", flush=True)
        print("\n" + "; ".join(f"{service.name}: {service.peak():.0f} MB at most" for service in services) + ".")
    finally:
        for service in services:
            service.stop()


if __name__ == "__main__":
    main()
