// Datasets by key
//
// Unknown keys give no row.
//
// param keys LIST<STRING>: keys of the nodes
// returns key: key
// returns record: packed state
// returns facets: packed facets
UNWIND $keys AS key
MATCH (n:Dataset {key: key})
WHERE n.record IS NOT NULL
RETURN n.key AS key, n.record AS record, n.facets AS facets
