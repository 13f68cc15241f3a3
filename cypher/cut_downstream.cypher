// Datasets downstream of datasets, to the end
//
// Follows every flow ever reported; the caller keeps those in scope. A pruning breadth-first expansion: each node is
// visited once, however many paths lead to it. Aliases are not crossed here.
//
// param keys LIST<STRING>: keys of the nodes
// returns namespace: namespace of the dataset
// returns name: its name
MATCH (s:Dataset WHERE s.key IN $keys)
MATCH (s)-[:FEEDS*1..]->(d:Dataset)
RETURN DISTINCT d.namespace AS namespace, d.name AS name
