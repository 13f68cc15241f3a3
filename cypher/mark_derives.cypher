// Mark which DERIVES are current
//
// param rows LIST<MAP>: evidence key and current
UNWIND $rows AS row
MATCH ()-[e:DERIVES {evidence: row.evidence}]->()
SET e.current = row.current
