// Write outputs, the record of what is current of a job's output
//
// param rows LIST<MAP>: one map a node: key, and its properties
UNWIND $rows AS row
MERGE (n:Output {key: row.key})
ON CREATE SET n.job = row.job, n.dataset = row.dataset, n.parts = row.parts
SET n.record = row.record
