// Every node that people query
//
// Tags and owners that nothing holds any more are left out.
//
// returns label: its label
// returns properties: its properties
MATCH (n)
WHERE NOT n:Output AND NOT n:Mapping AND NOT n:Ledger
  AND NOT ((n:Tag OR n:Owner) AND NOT EXISTS { ()-[:TAGGED|OWNED_BY]->(n) })
RETURN labels(n)[0] AS label, properties(n) AS properties
