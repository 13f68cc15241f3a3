// Write WROTE of runs
//
// param rows LIST<MAP>: one map a relationship: start and end keys, and its properties
UNWIND $rows AS row
MATCH (r:Run {key: row.start})
MATCH (d:Dataset {key: row.end})
MERGE (r)-[e:WROTE]->(d)
SET e += row.properties, e.at = datetime(row.at)
