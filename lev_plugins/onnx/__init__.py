"""Editing without torch and fairseq: NumPy and ONNX Runtime read the graphs in a folder (``inference.graphs``)."""
