// Evidence that jobs read datasets
//
// Both ends are sought by key: expanding from a dataset that ten thousand jobs read would take seconds.
//
// param rows LIST<MAP>: dataset and job keys, as dataset and job
// returns dataset: key of the dataset
// returns job: key of the job
// returns record: packed evidence
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})-[r:READ_BY]->(j:Job {key: row.job})
USING INDEX d:Dataset(key)
USING INDEX j:Job(key)
RETURN d.key AS dataset, j.key AS job, r.record AS record
