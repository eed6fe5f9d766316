"""Solvers of the compiled problem; they know nothing else of the engine."""
