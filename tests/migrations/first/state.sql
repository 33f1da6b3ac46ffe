PRAGMA user_version=0;
BEGIN TRANSACTION;
CREATE TABLE project_paths (
  root TEXT PRIMARY KEY, memory TEXT NOT NULL, project_id TEXT NOT NULL REFERENCES projects(id), seen REAL NOT NULL);
INSERT INTO "project_paths" VALUES('@ROOT@/project','@ROOT@/project/.memsearch/memory','f169c123d36e4aae7dcf1a730a24a5fc',1.79538336257506966594e+09);
CREATE TABLE projects (
  id TEXT PRIMARY KEY, slug TEXT NOT NULL, collection TEXT NOT NULL UNIQUE,
  first_commit TEXT NOT NULL, remote TEXT NOT NULL, registered REAL NOT NULL);
INSERT INTO "projects" VALUES('f169c123d36e4aae7dcf1a730a24a5fc','project','ms_project_f169c123','','',1.79538336257506966594e+09);
COMMIT;
