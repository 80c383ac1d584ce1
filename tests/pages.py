"""The code blocks of the documentation, and a way to run its commands."""

import re
from importlib.util import find_spec
from pathlib import Path

from tests.commands import ROOT, run

FIRST_PAGE = "docs/quick-start.md"  # the other pages continue from its files
OPTIONAL = {"byt5": "transformers", "gates.py": "matplotlib", "from dask": "distributed"}  # packages of some blocks


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, *languages: str) -> list[tuple[str, str]]:
    """Returns the code blocks in one of these languages, each with its language ('' for output)."""
    pairs = re.findall(r"^```(\w*)\n(.*?)^```", read(page), re.MULTILINE | re.DOTALL)
    return [(language, text) for language, text in pairs if language in languages]


def commands(page: str) -> list[str]:
    """Returns the bash and Python blocks of a page as commands of bash, without those that show a pattern (``...``)."""
    return [
        text if language == "bash" else f"cat >page.py <<'END'\n{text}END\npython page.py\n"
        for language, text in blocks(page, "bash", "python")
        if " ..." not in text
    ]


def run_commands(page: str, checkout: Path) -> str:
    """Runs the commands of a page in their order, asserts their exit status, and returns what they print."""
    printed = ""
    for block in commands(page):
        if any(word in block and find_spec(package) is None for word, package in OPTIONAL.items()):
            continue
        programs = page == FIRST_PAGE  # so that the programs themselves are tested as well
        result = run("bash", "-euo", "pipefail", "-c", block, cwd=checkout, programs=programs)
        assert result.code == 0, f"{page}\n{block}\n{result.both[-3000:]}"
        printed += result.out
    return printed


def outputs_of(page: str) -> str:
    """Returns the outputs that a page shows, without JSON, messages of other editors, and results of a training."""
    texts = [text for _, text in blocks(page, "") if not re.match(r"lev-plugins |pip |python |\{|\U0001f44b", text)]
    return re.sub(r"^(epoch|system +TER).*", "", "".join(texts), flags=re.MULTILINE)  # these depend on the processor


def numbers_in(text: str) -> list[str]:
    return re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.])", text)
