// Constraints and indexes
//
// Made at every start; each says IF NOT EXISTS, so a second start changes nothing.
CREATE CONSTRAINT namespace_key IF NOT EXISTS FOR (n:Namespace) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT dataset_key IF NOT EXISTS FOR (n:Dataset) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT job_key IF NOT EXISTS FOR (n:Job) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT run_key IF NOT EXISTS FOR (n:Run) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT declaration_key IF NOT EXISTS FOR (n:Declaration) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT column_key IF NOT EXISTS FOR (n:Column) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT flow_key IF NOT EXISTS FOR (n:Flow) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT evidence_key IF NOT EXISTS FOR (n:Evidence) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT schemaversion_key IF NOT EXISTS FOR (n:SchemaVersion) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT tag_key IF NOT EXISTS FOR (n:Tag) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT owner_key IF NOT EXISTS FOR (n:Owner) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT mapping_key IF NOT EXISTS FOR (n:Mapping) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT output_key IF NOT EXISTS FOR (n:Output) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT ledger_key IF NOT EXISTS FOR (n:Ledger) REQUIRE n.key IS UNIQUE;
CREATE INDEX run_id IF NOT EXISTS FOR (n:Run) ON (n.run_id);
CREATE INDEX run_job IF NOT EXISTS FOR (n:Run) ON (n.job);
CREATE INDEX run_execution IF NOT EXISTS FOR (n:Run) ON (n.execution);
CREATE INDEX declaration_execution IF NOT EXISTS FOR (n:Declaration) ON (n.execution);
CREATE INDEX declaration_job IF NOT EXISTS FOR (n:Declaration) ON (n.job);
CREATE INDEX output_job IF NOT EXISTS FOR (n:Output) ON (n.job);
CREATE INDEX output_dataset IF NOT EXISTS FOR (n:Output) ON (n.dataset);
CREATE INDEX evidence_output IF NOT EXISTS FOR (n:Evidence) ON (n.output);
CREATE INDEX evidence_digest IF NOT EXISTS FOR (n:Evidence) ON (n.digest);
CREATE INDEX derives_evidence IF NOT EXISTS FOR ()-[e:DERIVES]-() ON (e.evidence);
CREATE INDEX influences_evidence IF NOT EXISTS FOR ()-[e:INFLUENCES]-() ON (e.evidence);
CREATE TEXT INDEX dataset_search IF NOT EXISTS FOR (n:Dataset) ON (n.search);
CREATE TEXT INDEX job_search IF NOT EXISTS FOR (n:Job) ON (n.search);
