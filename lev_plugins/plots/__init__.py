"""Figures: gates of gated-Trans, scores by iteration and by time, iterations by length, and what all of them share."""
