"""Figures: what the gates of gated-Trans say, averaged and drawn."""
