// Remove flows that no output is made from any more
//
// param digests LIST<STRING>: digests of flows that lost evidence
UNWIND $digests AS digest
MATCH (f:Flow {digest: digest})
WHERE NOT EXISTS { MATCH (:Evidence {digest: digest}) }
DETACH DELETE f
