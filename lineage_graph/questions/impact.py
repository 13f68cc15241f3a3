"""What depends on a node: everything downstream of it (design 6)."""

from __future__ import annotations

from lineage_graph.cut import NodeId
from lineage_graph.questions.answers import Answer, Standing
from lineage_graph.questions.lineage import Bounds, lineage
from lineage_graph.scope import Scope
from lineage_graph.store import Neighbourhood


def impact(near: Neighbourhood, node: NodeId, scope: Scope, bounds: Bounds, standing: Standing) -> Answer:
    """All datasets, columns and jobs that a change of ``node`` may reach.

    ``node`` exists and is a dataset, column, job or run; of a job or run its outputs are the first step.
    Cycles end; the node itself is no item of its own answer.
    """
    return lineage(near, node, True, scope, bounds, standing)
