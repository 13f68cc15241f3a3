// Write flows
//
// param rows LIST<MAP>: one map a node: key, and its properties
UNWIND $rows AS row
MERGE (f:Flow {key: row.key})
ON CREATE SET f.digest = row.digest, f.job = row.job, f.content = row.content
