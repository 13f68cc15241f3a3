// Write RUN_OF of declarations
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (r:Declaration {key: row.start})
MATCH (j:Job {key: row.end})
MERGE (r)-[:RUN_OF]->(j)
