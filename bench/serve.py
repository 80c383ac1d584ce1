#!/usr/bin/env python3
"""``python bench/serve.py MODEL``: latency and throughput of ``lev-plugins serve``, and its start; see README.md."""

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import report
from bench.clock import spread
from lev_plugins.errors import UserError, require
from lev_plugins.text.lines import read_lines

FORMAT = 1  # of the JSON
GOAL = 3  # times the throughput of one client
CLIENTS = 64
CLOCK = "wall seconds; the server has one thread for its model, clients run on the same machine"
PATIENCE = 600  # seconds for one answer
LOADED = """
import sys, time
start = time.perf_counter()
import lev_plugins
lev_plugins.load(sys.argv[1], sys.argv[2] or None).edit([sys.argv[3]])
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Plan:
    sentences: int = 256  # per measurement
    repetitions: int = 5
    starts: int = 3


QUICK = Plan(sentences=16, repetitions=1, starts=1)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="bench/serve.py", description="Speed of lev-plugins serve, as JSON; further flags are for serve"
    )
    made.add_argument("model", metavar="MODEL", help="an editor: a model folder or a checkpoint")
    made.add_argument("--data", metavar="DIR", default="", help="of a checkpoint: folder with its dictionaries")
    made.add_argument("--texts", metavar="FILE", type=Path, required=True, help="sentences, one per line")
    made.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    made.add_argument("--quick", action="store_true", help="few measurements, to check that it runs")
    return made


# ---- the server ------------------------------------------------------------------------------------------------------


@contextmanager
def serving(model: str, flags: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The port and the process of a server that is stopped at the end."""
    command = [sys.executable, "-m", "lev_plugins", "serve", model, "--cpu", "--port", "0", *flags]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, **quiet) as process:  # type: ignore[call-overload]
        try:
            found = re.search(r":(\d+) ", process.stdout.readline())
            if found is None:
                raise UserError(f"the server does not start: try {' '.join(command)}")
            yield int(found[1]), process.pid
        finally:
            process.terminate()


def processor_seconds(process: int) -> float:
    """Spent by a process, as Linux counts it: other programs do not matter."""
    user, system = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Client:
    def __init__(self, port: int):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def edit(self, text: str) -> float:
        """Seconds."""
        start = time.perf_counter()
        self.connection.request("POST", "/v1/edit", json.dumps({"texts": [text]}))
        answer = self.connection.getresponse()
        content = answer.read()
        require(answer.status == 200, f"the server answered {answer.status}: {content.decode()}")
        return time.perf_counter() - start


# ---- what is measured ------------------------------------------------------------------------------------------------


def start(model: str, flags: Sequence[str], text: str) -> float:
    """Seconds from the command to the first answer."""
    begin = time.perf_counter()
    with serving(model, flags) as (port, _):
        Client(port).edit(text)
        return time.perf_counter() - begin


def one_client(port: int, texts: Sequence[str]) -> list[float]:
    client = Client(port)
    return [client.edit(text) for text in texts]


def many_clients(port: int, texts: Sequence[str], clients: int) -> float:
    """Seconds for all; each client sends its next text when it has its answer."""
    begin = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda number: one_client(port, texts[number::clients]), range(clients)))
    return time.perf_counter() - begin


def measure(model: str, flags: Sequence[str], texts: Sequence[str], plan: Plan) -> dict[str, Any]:
    latencies: list[float] = []
    alone: list[float] = []
    together: list[float] = []
    spent: list[float] = []  # by the server, before, between and after the two
    with serving(model, flags) as (port, process):
        one_client(port, texts[:CLIENTS])
        for _ in tqdm(range(plan.repetitions), desc="serve", disable=None):
            spent.append(processor_seconds(process))
            seconds = one_client(port, texts)
            latencies += seconds
            alone.append(len(texts) / sum(seconds))
            spent.append(processor_seconds(process))
            together.append(len(texts) / many_clients(port, texts, CLIENTS))
        spent.append(processor_seconds(process))
    of_each = np.diff(spent) / len(texts)
    middle, slowest = np.percentile(latencies, [50, 99])
    return {
        "latency_seconds": {"p50": float(middle), "p99": float(slowest), "measurements": len(latencies)},
        "one_client_sentences_per_second": spread(alone),
        f"{CLIENTS}_clients_sentences_per_second": spread(together),
        "one_client_processor_seconds": spread(of_each[::2].tolist()),
        f"{CLIENTS}_clients_processor_seconds": spread(of_each[1::2].tolist()),
        "ratio": spread([b / a for a, b in zip(alone, together, strict=True)]),
        "start_seconds": spread([start(model, flags, texts[0]) for _ in range(plan.starts)]),
    }


def load_seconds(model: str, data: str, text: str, starts: int) -> dict[str, float] | None:
    """From ``import lev_plugins`` to the first edit in Python; None for a checkpoint that needs further flags."""
    command = [sys.executable, "-c", LOADED, model, data, text]
    runs = [subprocess.run(command, capture_output=True, text=True) for _ in range(starts)]
    return spread([float(run.stdout) for run in runs]) if not any(run.returncode for run in runs) else None


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    latency, ratio = found["latency_seconds"], found["ratio"]
    clients = ("one_client", f"{CLIENTS}_clients")
    rates = [found[f"{who}_sentences_per_second"]["median"] for who in clients]
    costs = [1000 * found[f"{who}_processor_seconds"]["median"] for who in clients]
    rows = [
        ("one sentence, p50", f"{1000 * latency['p50']:.1f} ms"),
        ("one sentence, p99", f"{1000 * latency['p99']:.1f} ms"),
        ("one client", f"{rates[0]:.1f} sentences/s"),
        (f"{CLIENTS} clients", f"{rates[1]:.1f} sentences/s"),
        ("one client, processor time of the server", f"{costs[0]:.2f} ms per sentence"),
        (f"{CLIENTS} clients, processor time of the server", f"{costs[1]:.2f} ms per sentence"),
        (f"ratio (goal: {GOAL})", f"{ratio['median']:.2f}"),
        ("from the command to the first answer", f"{found['start_seconds']['median']:.1f} s"),
    ]
    return "\n".join([report.row("what", "figure"), "|---|---|", *(report.row(*each) for each in rows)]) + "\n"


def main(arguments: list[str] | None = None) -> None:
    args, flags = parser().parse_known_args(arguments)
    plan = QUICK if args.quick else Plan()
    lines = [line for line in read_lines(args.texts) if line.strip()]
    require(bool(lines), f"--texts {args.texts} is empty: name a file with sentences, one per line")
    texts = (lines * (1 + plan.sentences // len(lines)))[: plan.sentences]
    flags += ["--data", args.data] if args.data else []
    found = report.about(torch.device("cpu")) | {"format": FORMAT, "clock": CLOCK, "goal": GOAL}
    found["texts"] = {"sentences": len(texts), "characters_mean": float(np.mean([len(text) for text in texts]))}
    found |= measure(args.model, flags, texts, plan)
    found["load_seconds"] = load_seconds(args.model, args.data, texts[0], plan.starts)
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/serve.py")
