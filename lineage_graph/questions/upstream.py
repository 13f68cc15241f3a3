"""Where a node comes from: everything upstream of it (design 6)."""

from __future__ import annotations

from lineage_graph.cut import NodeId
from lineage_graph.questions.answers import Answer, Standing
from lineage_graph.questions.lineage import Bounds, lineage
from lineage_graph.scope import Scope
from lineage_graph.store import Neighbourhood


def upstream(near: Neighbourhood, node: NodeId, scope: Scope, bounds: Bounds, standing: Standing) -> Answer:
    """All datasets, columns and jobs that ``node`` may have come from.

    ``node`` exists and is a dataset, column, job or run; of a job or run its inputs are the first step.
    """
    return lineage(near, node, False, scope, bounds, standing)
