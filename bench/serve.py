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
        # A session of its own: where others work, too, Linux shares the cores among sessions, and who has more threads gets no more.
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
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
        before = self.processor_time()
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds + 120)
        assert done.returncode == 0, f"{self.name}: {done.stderr}"
        found = json.loads(done.stdout)
        found["cpu_ms"] = 1000 * (self.processor_time() - before) / found["requests"]
        return found

    def processes(self):
        """The folders below /proc of the process and its children."""
        ids = [self.process.pid]
        for process in ids:
            ids.extend(int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split())
        return [pathlib.Path(f"/proc/{process}") for process in ids]

    def processor_time(self):
        """User and system seconds of all threads so far: other work on the machine hardly changes them."""
        fields = [(process / "stat").read_text().rsplit(")", 1)[1].split() for process in self.processes()]
        return sum(int(field[11]) + int(field[12]) for field in fields) / os.sysconf("SC_CLK_TCK")

    def peak(self):
        """The most memory of all of them, in MB."""
        lines = [line for process in self.processes() for line in (process / "status").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000

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
        print("| clients | service | requests/s | p50 | p99 | processor time a request | ours over the better peer, rate (least to most) | … by processor time | load |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for clients in args.clients:
            turns, loads = [], []
            for turn in range(args.turns):
                # Whoever is first in one turn is last in another.
                order = services[turn % 3 :] + services[: turn % 3]
                found = {service.name: service.load(tool, args.photos, clients, args.seconds) for service in order}
                turns.append(found)
                loads.append(os.getloadavg()[0])
            middle = lambda name, key: statistics.median(turn[name][key] for turn in turns)
            peers = services[1:]
            rates = [turn["ours"]["rate"] / max(turn[peer.name]["rate"] for peer in peers) for turn in turns]
            # Who computes less does so whoever else is on the machine; rates say who was given a core as well.
            costs = [min(turn[peer.name]["cpu_ms"] for peer in peers) / turn["ours"]["cpu_ms"] for turn in turns]
            shown = [f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" for ratios in (rates, costs)]
            shown.append(f"{min(loads):.0f} to {max(loads):.0f}")
            for service in services:
                rate, p50, p99, cpu = (middle(service.name, key) for key in ("rate", "p50_ms", "p99_ms", "cpu_ms"))
                times = f"{p50:.0f} ms | {p99:.0f} ms | {cpu:.1f} ms"
                print(f"| {clients} | {service.name} | {rate:.1f} | {times} | {' | '.join(shown)} |", flush=True)
                shown = [""] * 3
        print("\n" + "; ".join(f"{service.name}: {service.peak():.0f} MB at most" for service in services) + ".")
    finally:
        for service in services:
            service.stop()


if __name__ == "__main__":
    main()
