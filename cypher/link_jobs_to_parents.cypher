// Write PART_OF between jobs
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (a:Job {key: row.start})
MATCH (b:Job {key: row.end})
MERGE (a)-[e:PART_OF]->(b)
SET e += row.properties, e.first_seen = datetime(row.first_seen), e.last_seen = datetime(row.last_seen)
