// Mark which flows are current
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (:Flow {key: row.start})-[e:FEEDS]->(:Dataset {key: row.end})
SET e.current = row.current, e.how = row.how
