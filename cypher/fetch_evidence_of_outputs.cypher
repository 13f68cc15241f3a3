// Evidence of outputs
//
// Flows and column mappings that runs ever reported for these outputs.
//
// param keys LIST<STRING>: keys of the nodes
// returns output: key of the output
// returns digest: digest of the flow or mapping
// returns record: packed use
UNWIND $keys AS key
MATCH (n:Evidence {output: key})
RETURN n.output AS output, n.digest AS digest, n.record AS record
