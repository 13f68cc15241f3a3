// Flows that datasets feed
//
// param keys LIST<STRING>: keys of the nodes
// returns dataset: key of the dataset
// returns digest: digest of the flow
UNWIND $keys AS key
MATCH (d:Dataset {key: key})-[:FEEDS]->(f:Flow)
RETURN d.key AS dataset, f.digest AS digest
