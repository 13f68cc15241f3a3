// Write evidence of flows and column mappings
//
// param rows LIST<MAP>: one map a node: key, and its properties
UNWIND $rows AS row
MERGE (n:Evidence {key: row.key})
ON CREATE SET n.output = row.output, n.digest = row.digest, n.parts = row.parts
SET n += row.properties, n.first_seen = datetime(row.first_seen), n.last_seen = datetime(row.last_seen), n.record = row.record
