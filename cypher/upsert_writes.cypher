// Write WRITES
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (j:Job {key: row.start})
MATCH (d:Dataset {key: row.end})
MERGE (j)-[e:WRITES]->(d)
SET e += row.properties, e.first_seen = datetime(row.first_seen), e.last_seen = datetime(row.last_seen)
