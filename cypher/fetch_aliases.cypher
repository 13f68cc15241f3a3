// Names joined with datasets, one step
//
// Both ways: names that a dataset gives, and datasets that give its name.
//
// param keys LIST<STRING>: keys of the nodes
// returns dataset: key of the dataset
// returns parts: namespace and name of the other one
UNWIND $keys AS key
MATCH (d:Dataset {key: key})-[:SAME_AS]-(other:Dataset)
RETURN d.key AS dataset, [other.namespace, other.name] AS parts
