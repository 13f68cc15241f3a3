// Write READ of declarations
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (r:Declaration {key: row.start})
MATCH (d:Dataset {key: row.end})
MERGE (r)-[e:READ]->(d)
SET e += row.properties, e.at = datetime(row.at)
