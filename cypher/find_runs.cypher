// Runs by run id
//
// One run id sent by two jobs is two runs.
//
// param id STRING: the run id, a UUID
// returns record: packed run
MATCH (n:Run {run_id: $id})
RETURN n.record AS record
