// Note that the whole graph is being dropped
//
// Until all of it is gone, every journal counts as not merged at all.
//
// param journal STRING: id of the journal that drops it
MERGE (own:Ledger {key: $journal})
WITH own
MATCH (l:Ledger)
SET l.applied = 0, l.newest = null, l.dropping = true
