"""The gRPC service: a front that checks answers and keeps deadlines, children that solve.

The front never imports OR-tools, the children never import gRPC (``docs/service.md``).
"""
