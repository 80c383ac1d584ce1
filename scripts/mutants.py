"""How many small bugs do the unit and parity tests notice?

A mutant is the package with one bug: a comparison turned round, a plus for a minus, a condition that is the other way
round, a function that returns nothing. The tests that run the line should fail; a mutant that passes them has survived.

    python scripts/mutants.py OUT.json                  200 mutants of the rooms with the most arithmetic, seed 1
    python scripts/mutants.py OUT.json --seconds 500    stop after 500 seconds; the same command continues

The test files that import one of the rooms are first run once under coverage, to learn which tests run which line,
and how long they take; OUT-tests.json remembers it. A mutant is then given to the tests that run its line, the
fastest first, until one fails. A process that has loaded the libraries forks for every file and every mutant, which
Windows cannot. Lines that only a command in another process runs do not count as tested.
"""

import argparse
import ast
import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path.cwd()
PACKAGE = "lev_plugins"
ROOMS = ["edits", "generators", "criterions", "scoring"]
TESTS = ["tests/unit", "tests/parity"]
LIBRARIES = ["torch", "fairseq", "fairseq_cli.generate", "pytest", "hypothesis", "coverage", "sacrebleu", "scipy.stats"]
LIBRARIES += ["sklearn.metrics", "rouge_score.rouge_scorer", "sentencepiece", "transformers", "matplotlib", "starlette"]
BUDGET = 30.0  # seconds of tests that a mutant is given, as they took with coverage
MOST_TESTS = 300  # that a mutant is given
START_SECONDS = 40  # that a fork may take before its first test on a busy machine
FILE_SECONDS = 170  # for the tests of one file, with coverage
COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
OPPOSITES = {"min": "max", "any": "all", "argmin": "argmax", "zeros": "ones", "amin": "amax"}
OPPOSITES |= {other: name for name, other in OPPOSITES.items()}


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    start: int  # bytes of the file that are replaced
    end: int
    new: str
    operator: str

    def source(self) -> bytes:
        old = (ROOT / self.file).read_bytes()
        return old[: self.start] + self.new.encode() + old[self.end :]


class Changes(ast.NodeVisitor):
    """Every change of code inside a function; texts, types and what is raised stay as they are."""

    def __init__(self, file: str):
        self.file, self.found, self.functions = file, list[Mutant](), 0
        source = (ROOT / file).read_bytes()
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.visit(ast.parse(source))

    def add(self, node: ast.expr | ast.stmt, new: str, operator: str) -> None:
        if self.functions:
            assert node.end_lineno is not None and node.end_col_offset is not None
            start = self.starts[node.lineno - 1] + node.col_offset
            end = self.starts[node.end_lineno - 1] + node.end_col_offset
            self.found.append(Mutant(self.file, node.lineno, start, end, new, operator))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions += 1
        for statement in node.body:
            self.visit(statement)
        self.functions -= 1

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Positions inside of f-strings are wrong before Python 3.12."""

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for number, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                ops = [*node.ops[:number], other(), *node.ops[number + 1 :]]
                new = ast.Compare(node.left, ops, node.comparators)
                self.add(node, f"({ast.unparse(new)})", f"{type(operator).__name__} -> {other.__name__}")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = OPERATORS.get(type(node.op))
        if other is not None:
            new = ast.BinOp(node.left, other(), node.right)
            self.add(node, f"({ast.unparse(new)})", f"{type(node.op).__name__} -> {other.__name__}")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        new = ast.BoolOp(other(), node.values)
        self.add(node, f"({ast.unparse(new)})", f"{type(node.op).__name__} -> {other.__name__}")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if not isinstance(node.op, ast.UAdd):
            self.add(node, f"({ast.unparse(node.operand)})", f"without {type(node.op).__name__}")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(node, str(not node.value), "another truth")
        elif isinstance(node.value, int | float):
            self.add(node, "0" if node.value == 1 else f"({node.value + 1})", "another number")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.add(node, "return None", "return None")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if name in OPPOSITES:
            whole = ast.unparse(function)
            self.add(function, whole[: len(whole) - len(name)] + OPPOSITES[name], f"{name} -> {OPPOSITES[name]}")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add(node, "pass", "call left out")
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        other = OPERATORS.get(type(node.op))
        if other is not None:
            new = ast.unparse(ast.AugAssign(node.target, other(), node.value))
            self.add(node, new, f"{type(node.op).__name__} -> {other.__name__}")
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        self.add(node.test, f"(not ({ast.unparse(node.test)}))", "condition turned round")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.add(node, "continue", "continue for break")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.add(node, "break", "break for continue")


def chosen(rooms: list[str], seed: int, count: int) -> list[Mutant]:
    """The same for the same files, seed and count."""
    files = sorted(path for room in rooms for path in (ROOT / PACKAGE / room).rglob("*.py"))
    mutants = [m for file in files for m in Changes(str(file.relative_to(ROOT))).found]
    random.Random(seed).shuffle(mutants)
    kept: list[Mutant] = []
    for mutant in mutants:
        if len(kept) == count:
            break
        with contextlib.suppress(SyntaxError):
            compile(mutant.source(), mutant.file, "exec")
            kept.append(mutant)
    return kept


class PerTest:
    """A pytest plug-in: the seconds of each test that passed, and the lines of the package that it ran."""

    def __init__(self) -> None:
        import coverage

        self.coverage = coverage.Coverage(data_file=None, source=[str(Path.cwd() / PACKAGE)], config_file=False)
        self.seconds: dict[str, float] = defaultdict(float)
        self.bad: set[str] = set()
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.bad.add(report.nodeid)

    def result(self) -> dict[str, Any]:
        self.coverage.stop()
        data = self.coverage.get_data()
        tests: dict[str, Any] = {name: [round(s, 2), {}] for name, s in self.seconds.items() if name not in self.bad}
        lines: dict[str, list[int]] = {}  # also those of imports and of fixtures for several tests
        for path in data.measured_files():
            file = str(Path(path).relative_to(Path.cwd()))
            for line, names in data.contexts_by_lineno(path).items():
                lines.setdefault(file, []).append(line)
                for name in set(names) & set(tests):
                    tests[name][1].setdefault(file, []).append(line)
        return {"tests": tests, "lines": lines, "bad": sorted(self.bad)}


def run_tests(words: list[str], plugins: list[Any]) -> int:
    import pytest

    common = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", "not gpu and not slow", "--tb=line"]
    return int(pytest.main([*(common if not plugins else common[1:]), *words], plugins=plugins))


def in_fork(folder: Path, limit: float, work: Callable[[], int]) -> tuple[int | None, float]:
    """The exit status of ``work`` in a process of its own in the copy of the checkout; None: out of time."""
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.chdir(folder)
            sys.path[0] = str(folder)
            os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "CUDA_VISIBLE_DEVICES": ""}
            os.environ["OMP_NUM_THREADS"] = "1"
            sys.dont_write_bytecode = True
            log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            code = work()
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    status: int | None = None
    try:
        while status is None and time.monotonic() - begin < limit:
            done, result = os.waitpid(child, os.WNOHANG)
            if done:
                status = os.waitstatus_to_exitcode(result)
            else:
                time.sleep(0.02)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # also what its tests started
    if status is None:
        os.waitpid(child, 0)
    return status, time.monotonic() - begin


def copied() -> Path:
    """What git knows of the checkout, with the package compiled."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    for name in subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-m", "compileall", "-q", PACKAGE, "tests"], cwd=folder, check=True)
    return folder


def learn(folder: Path, state: Path, tests: list[str], out_of_time: Callable[[], bool]) -> dict[str, Any] | None:
    known = json.loads(state.read_text()) if state.exists() else {}
    for file in tests:
        if file in known:
            continue
        if out_of_time():
            return None

        def work(file: str = file) -> int:
            plugin = PerTest()
            code = run_tests([file], [plugin])
            (folder / "result.json").write_text(json.dumps(plugin.result()))
            return code

        (folder / "result.json").unlink(missing_ok=True)
        code, seconds = in_fork(folder, FILE_SECONDS, work)
        empty = {"tests": {}, "lines": {}, "bad": [f"{file}: no result, exit status {code}"]}
        known[file] = json.loads((folder / "result.json").read_text()) if (folder / "result.json").exists() else empty
        say(f"{file}: {len(known[file]['tests'])} tests, {seconds:.0f} s, {len(known[file]['bad'])} failed or skipped")
        write(state, known)
    return known


def tests_of(mutant: Mutant, known: dict[str, Any]) -> tuple[list[str], float]:
    """Those that run its line, the fastest first, as many as the budget allows."""
    able = []
    for file in known.values():
        for name, (seconds, lines) in file["tests"].items():
            if mutant.line in lines.get(mutant.file, ()):
                able.append((seconds, name))
    taken, total = list[str](), 0.0
    for seconds, name in sorted(able)[:MOST_TESTS]:
        if taken and total + seconds > BUDGET:
            break
        taken.append(name)
        total += seconds
    return taken, total


def judge(mutant: Mutant, known: dict[str, Any], folder: Path) -> dict[str, Any]:
    tests, expected = tests_of(mutant, known)
    verdict, seconds = "no test", 0.0
    if tests:
        place = folder / mutant.file
        for stale in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
            stale.unlink()
        place.write_bytes(mutant.source())
        try:
            code, seconds = in_fork(folder, START_SECONDS + 4 * expected, lambda: run_tests(tests, []))
        finally:
            shutil.copy2(ROOT / mutant.file, place)
        verdict = {None: "timeout", 0: "survived", 5: "broken", 70: "broken"}.get(code, "killed")
    return {**asdict(mutant), "verdict": verdict, "tests": len(tests), "seconds": round(seconds, 1)}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write(path: Path, value: Any) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value))
    new.replace(path)


def covered(known: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Room, lines that tests run, lines that could run; without what an import runs it would be fewer of both."""
    from coverage.python import PythonParser

    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        file = str(path.relative_to(ROOT))
        parser = PythonParser(filename=str(path))
        parser.parse_source()
        run = {line for tests in known.values() for line in tests["lines"].get(file, ())}
        room = file.split("/")[1] if file.count("/") > 1 else PACKAGE
        for name in (room, "all"):
            rooms[name][0] += len(parser.statements & parser.first_lines(run))
            rooms[name][1] += len(parser.statements)
    yield from ((room, *numbers) for room, numbers in rooms.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT.json")
    parser.add_argument("--rooms", nargs="+", default=ROOMS, help="folders of the package (default: %(default)s)")
    parser.add_argument("--all-tests", action="store_true", help="not only those that import one of the rooms")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutants", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing after this time")
    args = parser.parse_args()
    begin = time.monotonic()
    args.out = args.out.resolve()

    def out_of_time() -> bool:
        return time.monotonic() - begin > args.seconds

    for library in LIBRARIES:
        with contextlib.suppress(ImportError), contextlib.redirect_stderr(io.StringIO()):
            import_module(library)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    rooms = re.compile("." if args.all_tests else rf"\b{PACKAGE}\.({'|'.join(args.rooms)})\b")
    paths = [path for folder in TESTS for path in sorted((ROOT / folder).glob("test_*.py"))]
    tests = [str(path.relative_to(ROOT)) for path in paths if rooms.search(path.read_text("utf-8"))]
    folder = copied()
    try:
        known = learn(folder, args.out.with_name(f"{args.out.stem}-tests.json"), tests, out_of_time)
        if known is None:
            return say("stopped while running the tests once; the same command continues")
        results = json.loads(args.out.read_text())["mutants"] if args.out.exists() else []
        for mutant in chosen(args.rooms, args.seed, args.mutants)[len(results) :]:
            if out_of_time():
                break
            results.append(judge(mutant, known, folder))
            say("{verdict} {file}:{line} {operator}, {tests} tests, {seconds} s".format(**results[-1]))
            counts = Counter(result["verdict"] for result in results)
            write(args.out, {"seed": args.seed, "rooms": args.rooms, "counts": counts, "mutants": results})
        say(f"{len(results)} of {args.mutants} mutants: {dict(Counter(result['verdict'] for result in results))}")
        for room, run, all_of_it in sorted(covered(known)):
            say(f"lines run by these tests: {room} {run} of {all_of_it} ({100 * run / max(all_of_it, 1):.1f} %)")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
