"""``from_pretrained`` of the models of this package: it reads only folders, and its result refuses input with TABs.

fairseq would unpack an archive to wherever the names of its members point, and then delete it.
"""

import os
from functools import partial

from fairseq.hub_utils import GeneratorHubInterface
from torch import Tensor

from lev_plugins.text.edited import require_text
from lev_plugins.utils.errors import require


class LoadedFromFolder:
    """A mixin for models, which comes before fairseq's class."""

    @classmethod
    def from_pretrained(
        cls, model_name_or_path: str, checkpoint_file: str = "model.pt", data_name_or_path: str = ".", **options: object
    ) -> GeneratorHubInterface:
        model, data = model_name_or_path, data_name_or_path
        for path in (model, os.path.join(model, data) if data.startswith(".") else data):
            require(not os.path.isfile(path), f"{path} is a file, but a folder is needed: unpack it with tar -xf")
            require(os.path.isdir(path), f"there is no folder {path}")
        hub = super().from_pretrained(  # type: ignore[misc]
            model_name_or_path, checkpoint_file, data_name_or_path, **options
        )
        hub.encode = partial(encode_text, hub)
        return hub


def encode_text(hub: GeneratorHubInterface, text: str) -> Tensor:
    """Encodes a text, in which no draft may follow a TAB, as it may in fairseq-interactive."""
    require_text(text)
    require(
        "\t" not in text or getattr(hub.task, "name", "") != "text_editing",
        f"translate reads no drafts, but {text!r:.60} has a TAB: use lev_plugins.load(...).edit(sources, drafts), or "
        "replace the TAB with a space",
    )
    return type(hub).encode(hub, text)
