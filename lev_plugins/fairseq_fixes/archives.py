"""Models are loaded from folders: fairseq unpacks an archive wherever its members say, and then deletes it."""

import os
from typing import Any

from lev_plugins.errors import require


class LoadedFromFolder:
    """Inherit from this before a fairseq model."""

    @classmethod
    def from_pretrained(
        cls, model_name_or_path: str, checkpoint_file: str = "model.pt", data_name_or_path: str = ".", **options: Any
    ) -> Any:
        for path in (model_name_or_path, data_name_or_path):
            require(not os.path.isfile(path), f"{path} is a file, but a folder is needed: unpack it with tar -xf")
        return super().from_pretrained(  # type: ignore[misc]
            model_name_or_path, checkpoint_file, data_name_or_path, **options
        )
