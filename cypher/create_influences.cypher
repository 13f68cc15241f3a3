// Write INFLUENCES of a mapping that an output is first reported with
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (a:Column {key: row.start})
MATCH (b:Dataset {key: row.end})
CREATE (a)-[e:INFLUENCES]->(b)
SET e = row.properties
