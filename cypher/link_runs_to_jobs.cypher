// Write RUN_OF of runs
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (r:Run {key: row.start})
MATCH (j:Job {key: row.end})
MERGE (r)-[:RUN_OF]->(j)
