// Lock jobs for one writer, made where missing
//
// Keys come sorted, so that two writers wait for each other and never in a circle. Setting a property takes the lock;
// what is returned is read under it.
//
// param keys LIST<STRING>: keys of the nodes
// returns key: key
// returns record: packed state, null for a new node
// returns facets: packed facets
UNWIND $keys AS key
MERGE (n:Job {key: key})
SET n.locked = true
REMOVE n.locked
RETURN n.key AS key, n.record AS record, n.facets AS facets
