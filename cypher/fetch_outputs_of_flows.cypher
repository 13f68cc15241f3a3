// Outputs ever made from flows
//
// param digests LIST<STRING>: digests of the flows
// returns digest: digest of the flow
// returns parts: job namespace and name, dataset namespace and name
UNWIND $digests AS digest
MATCH (n:Evidence {digest: digest})
RETURN n.digest AS digest, n.parts AS parts
