// Remove some of the datasets, jobs and what they are labelled with
//
// Nodes without a key are not this product's, whatever their label.
//
// param most INTEGER: the most to remove
// returns removed: how many were removed; 0 when none is left
MATCH (n:Dataset|Job|Namespace|Tag|Owner)
WHERE n.key IS NOT NULL
WITH n LIMIT $most
DETACH DELETE n
RETURN count(*) AS removed
