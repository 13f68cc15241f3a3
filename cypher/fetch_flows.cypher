// Flows by digest
//
// param keys LIST<STRING>: keys of the flows
// returns digest: digest
// returns content: packed flow
UNWIND $keys AS key
MATCH (f:Flow {key: key})
RETURN f.digest AS digest, f.content AS content
