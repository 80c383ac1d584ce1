"""Type the commands that a page prints, and keep what they print for the claims of the page (``tests/claims.py``)."""

import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.commands import ROOT, Result, refused, run, succeed

FIRST = "docs/quick-start.md"  # the other pages go on from what it made
NEEDED = {"byt5": "transformers", "gates.py": "matplotlib", "from dask": "distributed"}  # by blocks with these words


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, *languages: str) -> list[tuple[str, str]]:
    """The code blocks in one of these languages, each with its language ('' for output)."""
    every = re.findall(r"^```(\w*)\n(.*?)^```", read(page), re.MULTILINE | re.DOTALL)
    return [(language, text) for language, text in every if language in languages]


def commands(page: str) -> list[str]:
    """The bash and Python blocks of a page as commands of bash, without those that show a pattern (``...``)."""
    return [
        text if language == "bash" else f"cat >page.py <<'END'\n{text}END\npython page.py\n"
        for language, text in blocks(page, "bash", "python")
        if " ..." not in text
    ]


@dataclass
class Page:
    """A page, the folder that it calls the root of a checkout, and what its commands printed there."""

    name: str
    checkout: Path
    results: dict[str, Result] = field(default_factory=dict)  # by block

    def follow(self) -> "Page":
        for block in commands(self.name):
            if any(words in block and find_spec(package) is None for words, package in NEEDED.items()):
                continue
            first = self.name == FIRST  # shows that the programs start as well
            result = run("bash", "-euo", "pipefail", "-c", block, cwd=self.checkout, programs=first, timeout=900)
            assert result.code == 0, f"{self.name}\n{block}\n{result.both[-3000:]}"
            self.results[block] = result
        return self

    def printed(self, words: str) -> str:
        """Returns the standard output of the block that has these words."""
        [out] = [result.out for block, result in self.results.items() if words in block]
        return out

    def shown(self, words: str) -> str:
        """Returns the output with these words that the page shows."""
        [text] = [text for _, text in blocks(self.name, "") if words in text]
        return text

    @property
    def text(self) -> str:
        return read(self.name)

    def file(self, name: str) -> Path:
        return self.checkout / "toy" / name

    def read(self, name: str) -> str:
        return self.file(name).read_text(encoding="utf-8")

    def lines(self, name: str) -> list[str]:
        return self.read(name).splitlines()

    def run(self, *command: object, **options: Any) -> Result:
        return succeed(*command, cwd=self.checkout, **options)

    def refusal(self, *command: object, **options: Any) -> str:
        return refused(*command, cwd=self.checkout, **options)
