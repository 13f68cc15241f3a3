// Outputs by key
//
// An output is one dataset as one job writes it, or what a job reads.
//
// param keys LIST<STRING>: keys of the nodes
// returns key: key
// returns record: packed state
UNWIND $keys AS key
MATCH (n:Output {key: key})
RETURN n.key AS key, n.record AS record
