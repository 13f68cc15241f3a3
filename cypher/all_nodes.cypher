// Every node of the graph with all that it holds
//
// Tags and owners that nothing holds any more are left out, and mappings that no evidence speaks of.
//
// returns label: its label
// returns properties: its properties, those that only serve the store included
MATCH (n:Namespace|Dataset|Job|Run|Declaration|Column|Flow|Evidence|SchemaVersion|Tag|Owner|Output|Mapping)
WHERE n.key IS NOT NULL
  AND NOT ((n:Tag OR n:Owner) AND NOT EXISTS { ()-[:TAGGED|OWNED_BY]->(n) })
  AND NOT (n:Mapping AND NOT EXISTS { MATCH (:Evidence {digest: n.key}) })
WITH n, ['Namespace', 'Dataset', 'Job', 'Run', 'Declaration', 'Column', 'Flow', 'Evidence', 'SchemaVersion', 'Tag',
         'Owner', 'Output', 'Mapping'] AS ours
RETURN head([label IN labels(n) WHERE label IN ours]) AS label, properties(n) AS properties
