PRAGMA user_version=0;
BEGIN TRANSACTION;
CREATE TABLE changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  batch TEXT NOT NULL,            -- changes made by one command; undone together
  at REAL NOT NULL,               -- seconds since the epoch
  op TEXT NOT NULL,               -- add | edit | delete | mark
  memory TEXT NOT NULL,           -- the memory folder, for undo within a project
  path TEXT NOT NULL,
  entry_id TEXT NOT NULL,
  title TEXT NOT NULL,
  offset INTEGER NOT NULL,        -- where the bytes stood
  before BLOB NOT NULL,
  after BLOB NOT NULL,
  file_before TEXT NOT NULL,      -- digests of the whole file
  file_after TEXT NOT NULL,
  previous_id TEXT NOT NULL,      -- neighbours, to find the place again when the file has moved on
  next_id TEXT NOT NULL,
  state TEXT NOT NULL,            -- intent | done | undone
  undone_at REAL
);
INSERT INTO "changes" VALUES(1,'ab4b174eac9f4add896f310dd9e4914b',1.79538336183403754234e+09,'add','@ROOT@/project/.memsearch/memory','@ROOT@/project/.memsearch/memory/2026-11-22.md','9256a0ff5c62','The staging database is Postgres 16',14,X'',X'2323204E6F7465730A2323232032313A33360A3C212D2D2069643A393235366130666635633632202D2D3E0A2D205468652073746167696E6720646174616261736520697320506F7374677265732031360A0A','f638d19843e7c9f9','bb7b12edb244d385','','','done',NULL);
INSERT INTO "changes" VALUES(2,'3d246e5bd0ca4f6b9eb135a272ee02ab',1.79538336211694765087e+09,'add','@ROOT@/project/.memsearch/memory','@ROOT@/project/.memsearch/memory/2026-11-22.md','0664eac1269b','Deploys happen on Tuesdays',97,X'',X'2323232032313A33360A3C212D2D2069643A303636346561633132363962202D2D3E0A2D204465706C6F79732068617070656E206F6E2054756573646179730A0A','bb7b12edb244d385','5d6db14ae376c995','','','done',NULL);
INSERT INTO "changes" VALUES(3,'ed61557058ae4779afd0bbae5ace5d49',1.79538336241664052005e+09,'add','@ROOT@/project/.memsearch/memory','@ROOT@/project/.memsearch/memory/2026-11-22.md','ed301184d09a','A note that goes',162,X'',X'2323232032313A33360A3C212D2D2069643A656433303131383464303961202D2D3E0A2D2041206E6F7465207468617420676F65730A0A','5d6db14ae376c995','82137b5189ca00f8','','','done',NULL);
INSERT INTO "changes" VALUES(4,'ac7b2186aebf4789b215e8d573c171eb',1.79538336286209130286e+09,'edit','@ROOT@/project/.memsearch/memory','@ROOT@/project/.memsearch/memory/2026-11-22.md','0664eac1269b','Deploys happen on Tuesdays',97,X'2323232032313A33360A3C212D2D2069643A303636346561633132363962202D2D3E0A2D204465706C6F79732068617070656E206F6E205475657364617973',X'2323232032313A33360A3C212D2D2069643A303636346561633132363962202D2D3E0A2D204465706C6F79732068617070656E206F6E205765646E657364617973','82137b5189ca00f8','724d6b1ce3ed80f1','9256a0ff5c62','ed301184d09a','done',NULL);
INSERT INTO "changes" VALUES(5,'000957c1b6d44b92a5ef15c672872e1e',1.79538336305639028549e+09,'delete','@ROOT@/project/.memsearch/memory','@ROOT@/project/.memsearch/memory/2026-11-22.md','ed301184d09a','A note that goes',164,X'2323232032313A33360A3C212D2D2069643A656433303131383464303961202D2D3E0A2D2041206E6F7465207468617420676F65730A0A',X'','724d6b1ce3ed80f1','4d6f49b958cb493c','0664eac1269b','','done',NULL);
CREATE INDEX changes_entry ON changes(entry_id, seq);
CREATE INDEX changes_state ON changes(state, path);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',5);
COMMIT;
