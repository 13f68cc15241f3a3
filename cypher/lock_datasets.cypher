// Lock datasets for one writer, made where missing
//
// As lock_jobs does; jobs are locked before datasets by every writer.
//
// param keys LIST<STRING>: keys of the nodes
// returns key: key
// returns record: packed state, null for a new node
// returns facets: packed facets
UNWIND $keys AS key
MERGE (n:Dataset {key: key})
SET n.locked = true
REMOVE n.locked
RETURN n.key AS key, n.record AS record, n.facets AS facets
