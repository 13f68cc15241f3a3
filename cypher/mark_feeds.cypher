// Mark which flows are current
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (f:Flow {key: row.start})-[e:FEEDS]->(d:Dataset {key: row.end})
USING INDEX f:Flow(key)
USING INDEX d:Dataset(key)
SET e.current = row.current, e.how = row.how
