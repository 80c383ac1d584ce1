"""``from_pretrained`` of our models: it reads only folders, and what it returns refuses input that it would misread.

fairseq unpacks an archive wherever its members say, and then deletes it.
"""

import os
from functools import partial
from typing import Any

from lev_plugins.errors import require
from lev_plugins.text.edited import require_text


class LoadedFromFolder:
    """Inherit from this before a fairseq model."""

    @classmethod
    def from_pretrained(
        cls, model_name_or_path: str, checkpoint_file: str = "model.pt", data_name_or_path: str = ".", **options: Any
    ) -> Any:
        model, data = model_name_or_path, data_name_or_path
        for path in (model, os.path.join(model, data) if data.startswith(".") else data):
            require(not os.path.isfile(path), f"{path} is a file, but a folder is needed: unpack it with tar -xf")
            require(os.path.isdir(path), f"there is no folder {path}")
        hub = super().from_pretrained(  # type: ignore[misc]
            model_name_or_path, checkpoint_file, data_name_or_path, **options
        )
        hub.encode = partial(encode_text, hub)
        return hub


def encode_text(hub: Any, text: str) -> Any:
    require_text(text)
    says = f"translate reads no drafts, but {text!r:.60} has a TAB: use lev_plugins.load(...).edit(sources, drafts)"
    draft = "\t" in text and getattr(hub.task, "name", "") == "text_editing"  # for fairseq-interactive, what follows
    require(not draft, f"{says}, or replace the TAB with a space")
    return type(hub).encode(hub, text)
