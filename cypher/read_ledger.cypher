// How far a journal is in the graph
//
// param journal STRING: id of the journal
// returns applied: newest offset merged
// returns newest: newest event time of any journal, nanoseconds
OPTIONAL MATCH (l:Ledger {key: $journal})
OPTIONAL MATCH (every:Ledger)
RETURN l.applied AS applied, max(every.newest) AS newest
