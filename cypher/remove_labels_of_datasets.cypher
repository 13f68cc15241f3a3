// Remove the tags and owners of datasets
//
// Those that hold now are written next.
//
// param keys LIST<STRING>: keys of the nodes
UNWIND $keys AS key
MATCH (n:Dataset {key: key})
OPTIONAL MATCH (n)-[old:TAGGED|OWNED_BY]->()
DELETE old
WITH DISTINCT n
OPTIONAL MATCH (n)-[:HAS_COLUMN]->(:Column)-[on_column:TAGGED]->()
DELETE on_column
