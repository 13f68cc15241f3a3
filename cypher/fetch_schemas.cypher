// Schema versions by key
//
// param keys LIST<STRING>: keys of the nodes
// returns key: key
// returns record: packed evidence
UNWIND $keys AS key
MATCH (n:SchemaVersion {key: key})
RETURN n.key AS key, n.record AS record
