// Remove the tags and owners of jobs
//
// Those that hold now are written next.
//
// param keys LIST<STRING>: keys of the nodes
UNWIND $keys AS key
MATCH (n:Job {key: key})
OPTIONAL MATCH (n)-[old:TAGGED|OWNED_BY]->()
DELETE old
