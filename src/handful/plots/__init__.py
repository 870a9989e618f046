"""Figures of results: regret over time and at the end, pulls by arm, the arm memory over time."""
