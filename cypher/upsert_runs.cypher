// Write runs
//
// param rows LIST<MAP>: one map a node: key, and its properties
UNWIND $rows AS row
MERGE (n:Run {key: row.key})
SET n += row.properties, n.first_seen = datetime(row.first_seen), n.last_seen = datetime(row.last_seen), n.started_at = datetime(row.started_at), n.ended_at = datetime(row.ended_at), n.record = row.record
