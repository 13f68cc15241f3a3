// Write columns and HAS_COLUMN
//
// param rows LIST<MAP>: one map a node: key, and its properties
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})
MERGE (c:Column {key: row.key})
ON CREATE SET c.namespace = row.namespace, c.dataset_name = row.dataset_name, c.name = row.name, c.dataset = row.dataset
MERGE (d)-[e:HAS_COLUMN]->(c)
ON CREATE SET e.listed = row.listed, e.position = row.position, e.type = row.type
