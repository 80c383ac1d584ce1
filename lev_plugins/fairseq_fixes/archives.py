"""``from_pretrained`` of the models of this package: it reads only folders.

fairseq would unpack an archive to wherever the names of its members point, and then delete it.
"""

import os

from fairseq.hub_utils import GeneratorHubInterface

from lev_plugins.errors import require


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
        return super().from_pretrained(  # type: ignore[misc]
            model_name_or_path, checkpoint_file, data_name_or_path, **options
        )
