"""Replay of Alibaba's 2023 GPU cluster trace, comparable with the published FGD study.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent", USENIX ATC 2023: 1,213 nodes with 6,212 GPUs; pods that ask for GPUs or for
thousandths of one GPU arrive in a recorded order, are placed at once or dropped, and never leave.
The measure is the share of all GPUs allocated when the pods that have arrived ask for 100 % (and
130 %) of the GPUs there are.

======================  =========================================================================
``trace``               nodes, pods, arrival orders and published figures, as read from files
``pods``                the pods of a trace as arrays; pods that no rule can tell apart are a kind
``cluster``             what is free on each node while a replay runs
``fragmentation``       the fragmentation measure of the study
``policies``            the six policies of the study; others register by name
``online``              the replay: one arrival after the other
``metrics``             allocation at a given load
``offline``             all pods at once, solved by the engine
``ceiling``             a proven upper bound on what any placement can allocate
``outcome``             the result of one run
``report``              JSON lines, the table, and placements as CSV
``cli``                 arguments; modes other than ``online`` register by name
======================  =========================================================================
"""
