// Write CHILD_OF; a run has one parent, the one named last
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (r:Run {key: row.start})
MATCH (p:Run {key: row.end})
OPTIONAL MATCH (r)-[old:CHILD_OF]->(other) WHERE other <> p
DELETE old
MERGE (r)-[:CHILD_OF]->(p)
