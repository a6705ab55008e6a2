"""Fidelity: how faithfully a model simulates a world whose rules are known."""
