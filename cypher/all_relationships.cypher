// Every relationship of the graph
//
// returns type: its type
// returns start: key of the start node
// returns end: key of the end node
// returns properties: its properties, those that only serve the store included
MATCH (a)-[r:FEEDS|READ_BY|WRITES|DERIVES|INFLUENCES|READ|WROTE|RUN_OF|CHILD_OF|PART_OF|AFTER|HAS_COLUMN|HAD_SCHEMA|SAME_AS|TAGGED|OWNED_BY]->(b)
WHERE a.key IS NOT NULL AND b.key IS NOT NULL
RETURN type(r) AS type, a.key AS start, b.key AS end, properties(r) AS properties
