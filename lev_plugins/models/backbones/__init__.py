"""Pre-trained encoder-decoders by ``transformers`` (extra ``[pretrained]``), which only ``library.py`` imports."""
