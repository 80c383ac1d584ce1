#!/usr/bin/env python3
"""Latency and throughput of ``lev-plugins serve``, and the time from its start to its first answer.

The server has one thread for its model; clients run on the same machine. Flags that are not listed go to the server.
"""

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
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import timing
from lev_plugins.text.lines import read_lines
from lev_plugins.utils.errors import UserError, require

CLIENTS = 64
TIMEOUT = 600  # seconds for one answer


@contextmanager
def serving(model: str, flags: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Starts a server; yields its port and process number, and stops it at the end."""
    command = [sys.executable, "-m", "lev_plugins", "serve", model, "--port", "0", *flags]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = re.search(r":(\d+) ", process.stdout.readline())
            if port is None:
                raise UserError(f"the server does not start: try {' '.join(command)}")
            yield int(port[1]), process.pid
        finally:
            process.terminate()


def processor_seconds(process: int) -> float:
    """Returns what a process has spent, as Linux counts it."""
    user, system = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def one_client(port: int, texts: Sequence[str]) -> list[float]:
    """Sends one text after the other; returns the seconds that each takes."""
    connection, seconds = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT), []
    for text in texts:
        start = time.perf_counter()
        connection.request("POST", "/v1/edit", json.dumps({"texts": [text]}))
        answer = connection.getresponse()
        content = answer.read()
        require(answer.status == 200, f"the server answered {answer.status}: {content.decode()}")
        seconds.append(time.perf_counter() - start)
    return seconds


def many_clients(port: int, texts: Sequence[str]) -> float:
    """Returns the seconds for all texts; each client sends its next text when it has its answer."""
    start = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda number: one_client(port, texts[number::CLIENTS]), range(CLIENTS)))
    return time.perf_counter() - start


def first_answer(model: str, flags: Sequence[str], text: str) -> float:
    """Returns the seconds from the command to the first answer."""
    start = time.perf_counter()
    with serving(model, flags) as (port, _):
        one_client(port, [text])
        return time.perf_counter() - start


def measure(model: str, flags: Sequence[str], texts: Sequence[str], repetitions: int) -> dict[str, Any]:
    latencies, alone, together, cost = list[float](), list[float](), list[float](), list[float]()
    with serving(model, flags) as (port, process):
        one_client(port, texts[:CLIENTS])
        for _ in tqdm(range(repetitions), desc="serve", disable=None):
            seconds, before = one_client(port, texts), processor_seconds(process)
            latencies += seconds
            alone.append(len(texts) / sum(seconds))
            together.append(len(texts) / many_clients(port, texts))
            cost.append(1000 * (processor_seconds(process) - before) / len(texts))
    p50, p99 = np.percentile(latencies, [50, 99])
    return {
        "p50_milliseconds": 1000 * p50,
        "p99_milliseconds": 1000 * p99,
        "one_client_per_second": timing.spread(alone),
        "many_clients_per_second": timing.spread(together),
        "many_clients_processor_milliseconds": timing.spread(cost),
        "first_answer_seconds": first_answer(model, flags, texts[0]),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = timing.parser(__doc__, device=False)
    parser.add_argument("model", metavar="MODEL", help="an editor: a model folder or a checkpoint")
    parser.add_argument("--texts", metavar="FILE", type=Path, required=True, help="sentences, one per line")
    args, flags = parser.parse_known_args(arguments)
    count, repetitions = (16, 1) if args.quick else (256, 5)
    lines = [line for line in read_lines(args.texts) if line.strip()]
    require(bool(lines), f"--texts {args.texts} is empty: name a file with sentences, one per line")
    texts = (lines * (1 + count // len(lines)))[:count]
    line = measure(args.model, flags, texts, repetitions)
    rows = [
        ["one sentence, p50 and p99", f"{line['p50_milliseconds']:.1f}, {line['p99_milliseconds']:.1f} ms"],
        ["one client", f"{line['one_client_per_second']['median']:.1f} sentences/s"],
        [f"{CLIENTS} clients", f"{line['many_clients_per_second']['median']:.1f} sentences/s"],
        ["... processor time", f"{line['many_clients_processor_milliseconds']['median']:.2f} ms per sentence"],
        ["from the command to the first answer", f"{line['first_answer_seconds']:.1f} s"],
    ]
    results = {"machine": timing.machine(torch.device("cpu")), "sentences": count, "clients": CLIENTS, "serving": line}
    timing.report(results, timing.table(["what", "figure"], rows), args.out)


if __name__ == "__main__":
    timing.run(main)
