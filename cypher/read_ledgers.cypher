// Up to where each journal is in the graph
//
// A question asks first, to know whether anybody merged since it was last asked.
//
// returns journal: id of the journal
// returns applied: newest offset merged
MATCH (l:Ledger)
RETURN l.key AS journal, l.applied AS applied
