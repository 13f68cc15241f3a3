// Runs of executions of jobs
//
// An execution is all runs of a job under one parent run, or one run without parent.
//
// param keys LIST<STRING>: keys of the executions
// returns execution: key of the execution
// returns record: packed run
UNWIND $keys AS key
MATCH (n:Run {execution: key})
RETURN n.execution AS execution, n.record AS record
UNION ALL
UNWIND $keys AS key
MATCH (n:Declaration {execution: key})
RETURN n.execution AS execution, n.record AS record
