"""Pre-trained encoder-decoders from ``transformers`` (extra ``[pretrained]``), which only ``library.py`` imports."""
