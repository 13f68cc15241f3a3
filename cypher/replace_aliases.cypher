// Replace the names that datasets give themselves
//
// A newer symlinks facet without a name undoes the join.
//
// param keys LIST<STRING>: keys of the datasets
// param rows LIST<MAP>: one map a relationship
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
OPTIONAL MATCH (d)-[old:SAME_AS]->()
DELETE old
WITH count(*) AS removed
UNWIND $rows AS row
MATCH (a:Dataset {key: row.start})
MATCH (b:Dataset {key: row.end})
CREATE (a)-[e:SAME_AS]->(b)
SET e += row.properties, e.since = datetime(row.since)
