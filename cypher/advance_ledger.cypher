// Note up to which offset a journal is in the graph
//
// Written with the events it speaks of, so that a crash can't part them.
//
// param journal STRING: id of the journal
// param applied INTEGER: newest offset merged
// param newest INTEGER: newest event time, nanoseconds; null for none
MERGE (l:Ledger {key: $journal})
ON CREATE SET l.applied = 0, l.newest = $newest
SET l.applied = CASE WHEN l.applied < $applied THEN $applied ELSE l.applied END,
    l.newest = CASE WHEN l.newest IS NULL OR l.newest < $newest THEN $newest ELSE l.newest END
