// Outputs that jobs ever had
//
// param keys LIST<STRING>: keys of the nodes
// returns job: key of the job
// returns parts: job namespace and name, dataset namespace and name
UNWIND $keys AS key
MATCH (n:Output {job: key})
RETURN n.job AS job, n.parts AS parts
