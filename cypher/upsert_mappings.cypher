// Write column mappings, as content
//
// param rows LIST<MAP>: one map a node: key, and its properties
UNWIND $rows AS row
MERGE (m:Mapping {key: row.key})
ON CREATE SET m.content = row.content
