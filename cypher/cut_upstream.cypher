// Datasets upstream of datasets, to the end
//
// As cut_downstream, against the arrows.
//
// param keys LIST<STRING>: keys of the nodes
// returns namespace: namespace of the dataset
// returns name: its name
MATCH (s:Dataset WHERE s.key IN $keys)
MATCH (s)<-[:FEEDS*1..]-(d:Dataset)
RETURN DISTINCT d.namespace AS namespace, d.name AS name
