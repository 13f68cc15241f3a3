// Runs and declarations of a job
//
// Only asked for when a run took something back that it had said.
//
// param job STRING: key of the job
// returns record: packed run
MATCH (n:Run {job: $job})
RETURN n.record AS record
UNION ALL
MATCH (n:Declaration {job: $job})
RETURN n.record AS record
