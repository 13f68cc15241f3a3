// Write namespaces
//
// param rows LIST<MAP>: key and name of each
UNWIND $rows AS row
MERGE (n:Namespace {key: row.key})
ON CREATE SET n.name = row.name
