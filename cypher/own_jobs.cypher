// Write OWNED_BY of jobs
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (n:Job {key: row.start})
MERGE (o:Owner {key: row.end})
ON CREATE SET o.name = row.name
MERGE (n)-[:OWNED_BY]->(o)
