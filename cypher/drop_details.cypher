// Remove some of the nodes that datasets and jobs hang together by
//
// Nodes without a key are not this product's, whatever their label.
//
// param most INTEGER: the most to remove
// returns removed: how many were removed; 0 when none is left
MATCH (n:Run|Declaration|Evidence|Column|Output|Mapping|Flow|SchemaVersion)
WHERE n.key IS NOT NULL
WITH n LIMIT $most
DETACH DELETE n
RETURN count(*) AS removed
