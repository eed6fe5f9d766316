"""The solver-neutral form of a problem, and what is derived from it without any solver."""
