// Write FEEDS from flows to outputs
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (f:Flow {key: row.start})
MATCH (d:Dataset {key: row.end})
MERGE (f)-[e:FEEDS]->(d)
SET e += row.properties, e.first_seen = datetime(row.first_seen), e.last_seen = datetime(row.last_seen)
