// Columns ever named of datasets
//
// param keys LIST<STRING>: keys of the nodes
// returns dataset: key of the dataset
// returns name: name of the column
UNWIND $keys AS key
MATCH (d:Dataset {key: key})-[:HAS_COLUMN]->(c:Column)
RETURN d.key AS dataset, c.name AS name
