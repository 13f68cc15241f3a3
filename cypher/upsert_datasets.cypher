// Write datasets
//
// The node exists: it was locked before. Facets come only when their content changed.
//
// param rows LIST<MAP>: one map a node: key, and its properties
UNWIND $rows AS row
MATCH (n:Dataset {key: row.key})
SET n += row.properties, n.first_seen = datetime(row.first_seen), n.last_seen = datetime(row.last_seen), n.record = row.record, n.facets = coalesce(row.facets, n.facets)
