"""EncT5 (Liu et al., 2021): model, loss, task, data and scores."""
