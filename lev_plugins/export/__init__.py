"""From a checkpoint to a model folder: graphs, model card and calibration."""
