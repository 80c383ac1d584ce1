"""The models, one file per system."""
