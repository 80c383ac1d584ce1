"""CTranslate2 as the benches use it."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

__all__ = ["StandIn"]


@dataclass
class StandIn:
    """In place of CTranslate2: what it was asked to convert, and how it was asked to translate."""

    checks: bool = True  # whether the checkpoint is a Transformer's with its dictionaries, and outputs have a length
    converted: list[tuple[str, str | None]] = field(default_factory=list)  # folder and quantisation
    searches: list[dict[str, Any]] = field(default_factory=list)

    def converter(self, checkpoint: str, data: str) -> Any:
        from lev_plugins import checkpoints  # takes seconds, which most tests need not wait for

        if self.checks:
            assert checkpoints.load(checkpoint)["args"].arch == "transformer"
            assert (Path(data) / "dict.source.txt").is_file() and (Path(data) / "dict.target.txt").is_file()

        def convert(out: str, quantization: str | None) -> None:
            self.converted.append((Path(out).name, quantization))

        return SimpleNamespace(convert=convert)

    def translator(self, folder: str, **options: Any) -> Any:
        assert options == {"intra_threads": 1, "inter_threads": 1, "compute_type": Path(folder).name}
        return SimpleNamespace(translate_batch=self.translate)

    def translate(self, lines: list[list[str]], max_decoding_length: int, **options: Any) -> list[Any]:
        if self.checks:
            assert options["min_decoding_length"] == max_decoding_length == max(map(len, lines))
        self.searches.append(options)
        return [SimpleNamespace(hypotheses=[line]) for line in lines]
