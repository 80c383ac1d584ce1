"""Correctors that write from left to right: PBD (Dai et al., 2020) and the gated Transformer (Qin et al., 2021)."""
