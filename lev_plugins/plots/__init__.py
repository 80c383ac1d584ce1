"""Figures of the gates of gated-Trans, averaged and drawn."""
