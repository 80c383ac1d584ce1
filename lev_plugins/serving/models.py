"""The models that a server has, each with its queue."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lev_plugins.errors import require
from lev_plugins.inference.editor import Editor
from lev_plugins.inference.labeller import Labeller
from lev_plugins.serving.alike import Example, Passage, edit_alike, label_alike
from lev_plugins.serving.queue import Worker

EDIT, LABEL = "edit", "label"
BATCH_SIZE = 8192  # characters that are decoded together


@dataclass(frozen=True)
class Served:
    name: str
    kind: str
    drafts: bool  # may texts have drafts?
    language: str | None
    least: float  # the smallest confidence of an edit, where a request does not say
    worker: Worker[Any, Any]

    @classmethod
    def of(
        cls, name: str, model: Editor | Labeller, most: int, least: float | None = None, batch_size: int = BATCH_SIZE
    ) -> Served:
        """``least``: in place of the editor's own; a request may have another one, so the editor leaves out nothing."""
        if isinstance(model, Labeller):
            labels = Worker(partial(label_alike, model), Example.size, most, batch_size)
            return cls(name, LABEL, False, None, 0.0, labels)
        least, model.min_confidence = model.min_confidence if least is None else least, 0.0
        edits = Worker(partial(edit_alike, model), Passage.size, most, batch_size)
        return cls(name, EDIT, model.model.drafts, model.language, least, edits)

    def about(self) -> dict[str, object]:
        about = {"name": self.name, "kind": self.kind, "drafts": self.drafts}
        return about | ({"min_confidence": self.least} if self.kind == EDIT else {})


class Models:
    def __init__(self, served: Sequence[Served]):
        self.served = list(served)

    def find(self, kind: str, name: str | None = None) -> Served:
        """Without a name, the first of this kind."""
        able = [each for each in self.served if each.kind == kind]
        found = next((each for each in able if name in (None, each.name)), None)
        names = ", ".join(each.name for each in able)
        require(bool(able), f"this server has no model that can {kind}: start it with one, or ask another server")
        require(found is not None, f"model: there is no {name!r} that can {kind}; there is {names}")
        assert found is not None
        return found

    def well(self) -> bool:
        return all(each.worker.thread.is_alive() for each in self.served)

    def close(self, seconds: float) -> None:
        """All within the same seconds."""
        end = time.monotonic() + seconds
        for each in self.served:
            each.worker.close(max(0.0, end - time.monotonic()))
