// Column mappings by digest
//
// param keys LIST<STRING>: digests of the mappings
// returns digest: digest
// returns content: packed mapping
UNWIND $keys AS key
MATCH (m:Mapping {key: key})
RETURN m.key AS digest, m.content AS content
