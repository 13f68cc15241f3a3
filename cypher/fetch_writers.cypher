// Jobs that ever wrote datasets, or declared to
//
// param keys LIST<STRING>: keys of the nodes
// returns dataset: key of the dataset
// returns parts: job namespace and name, dataset namespace and name
UNWIND $keys AS key
MATCH (n:Output {dataset: key})
RETURN n.dataset AS dataset, n.parts AS parts
