// Write READ_BY
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (d:Dataset {key: row.start})
MATCH (j:Job {key: row.end})
MERGE (d)-[e:READ_BY]->(j)
SET e += row.properties, e.first_seen = datetime(row.first_seen), e.last_seen = datetime(row.last_seen), e.record = row.record
