// Mark which INFLUENCES are current
//
// param rows LIST<MAP>: evidence key and current
UNWIND $rows AS row
MATCH ()-[e:INFLUENCES {evidence: row.evidence}]->()
SET e.current = row.current
