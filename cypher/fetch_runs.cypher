// Runs and declarations by key
//
// Unknown keys give no row.
//
// param keys LIST<STRING>: keys of the nodes
// returns record: packed run
UNWIND $keys AS key
MATCH (n:Run {key: key})
RETURN n.record AS record
UNION ALL
UNWIND $keys AS key
MATCH (n:Declaration {key: key})
RETURN n.record AS record
