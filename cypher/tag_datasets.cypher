// Write TAGGED of datasets
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (n:Dataset {key: row.start})
MERGE (t:Tag {key: row.end})
ON CREATE SET t.name = row.name
MERGE (n)-[:TAGGED]->(t)
