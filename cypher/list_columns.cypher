// Mark the columns that a dataset's schema lists now
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (d:Dataset {key: row.start})-[e:HAS_COLUMN]->(c:Column {key: row.end})
USING INDEX d:Dataset(key)
USING INDEX c:Column(key)
SET e.listed = row.listed, e.position = row.position, e.type = row.type
