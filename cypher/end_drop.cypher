// Forget how far any journal was in a graph that is gone
MATCH (l:Ledger)
DELETE l
