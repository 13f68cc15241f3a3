// Jobs whose name holds a text
//
// The text comes lower-cased; _ and % stand for themselves. Long names are indexed by their first part, so the
// caller looks again.
//
// param text STRING: part of the name, lower-cased
// param namespace STRING: keep to this namespace; null for all
// returns namespace: namespace
// returns name: name
// returns record: packed state
// returns facets: packed facets
MATCH (n:Job)
WHERE n.search CONTAINS $text AND ($namespace IS NULL OR n.namespace = $namespace)
RETURN n.namespace AS namespace, n.name AS name, n.record AS record, n.facets AS facets
