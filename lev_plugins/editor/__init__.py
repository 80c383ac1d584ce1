"""The editor and the labeller: a model folder in, edits and labels out."""
