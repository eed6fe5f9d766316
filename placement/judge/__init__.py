"""The specification: what an answer may do and what it is worth.

Plain Python on the problem and the answer; shares no code with the compiled problem, the solvers
or the engine, so that a fault there cannot hide here.
"""
