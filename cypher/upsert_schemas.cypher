// Write schema versions and HAD_SCHEMA
//
// param rows LIST<MAP>: one map a node: key, and its properties
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})
MERGE (s:SchemaVersion {key: row.key})
SET s += row.properties, s.first_seen = datetime(row.first_seen), s.last_seen = datetime(row.last_seen), s.record = row.record
MERGE (d)-[:HAD_SCHEMA]->(s)
