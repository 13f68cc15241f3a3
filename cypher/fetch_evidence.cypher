// Evidence by key
//
// param keys LIST<STRING>: keys of the nodes
// returns key: key
// returns record: packed use
UNWIND $keys AS key
MATCH (n:Evidence {key: key})
RETURN n.key AS key, n.record AS record
