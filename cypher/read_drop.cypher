// Whether a drop of the graph was begun and not ended
//
// returns dropping: true while nodes of the graph before may be left
MATCH (l:Ledger)
RETURN any(mark IN collect(l.dropping) WHERE mark) AS dropping
