"""Correctors that write from left to right: PBD (Zhou et al., 2020) and gated-Trans (Sengupta et al., 2021)."""
