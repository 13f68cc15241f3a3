// Remove evidence that no run stands behind any more, with its edges
//
// A run that said more in a later event takes back what it said before.
//
// param rows LIST<MAP>: key, and flow and dataset keys
UNWIND $rows AS row
MATCH (n:Evidence {key: row.key})
DETACH DELETE n
WITH row
OPTIONAL MATCH (f:Flow {key: row.flow})-[e:FEEDS]->(d:Dataset {key: row.dataset})
USING INDEX f:Flow(key)
USING INDEX d:Dataset(key)
DELETE e
WITH row
OPTIONAL MATCH ()-[derives:DERIVES {evidence: row.key}]->()
DELETE derives
WITH DISTINCT row
OPTIONAL MATCH ()-[influences:INFLUENCES {evidence: row.key}]->()
DELETE influences
