// Every relationship
//
// returns type: its type
// returns start: key of the start node
// returns end: key of the end node
// returns properties: its properties
MATCH (a)-[r]->(b)
RETURN type(r) AS type, a.key AS start, b.key AS end, properties(r) AS properties
