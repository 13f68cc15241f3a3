// Write FEEDS from sources to flows
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (d:Dataset {key: row.start})
MATCH (f:Flow {key: row.end})
MERGE (d)-[e:FEEDS]->(f)
ON CREATE SET e.rule = row.rule
