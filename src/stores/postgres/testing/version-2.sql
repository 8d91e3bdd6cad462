-- The tables of version 2, for the test of the migration, with one function and one policy of each kind.
CREATE SCHEMA IF NOT EXISTS ${namespace};
SET LOCAL search_path = ${namespace}, pg_temp;

CREATE TABLE migration (
  version int PRIMARY KEY,
  name text NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE meta (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  incarnation bigint NOT NULL DEFAULT 1,
  secret text NOT NULL
);
INSERT INTO meta (secret)
VALUES (encode(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid() || gen_random_uuid(), 'UTF8')), 'hex'));

CREATE TABLE project (
  tenant_id text COLLATE "C",
  project_id text COLLATE "C",
  position bigint NOT NULL DEFAULT 0,
  rules_seq bigint NOT NULL DEFAULT 0,
  requests bigint NOT NULL DEFAULT 0,
  last_ms bigint NOT NULL DEFAULT 0,
  written boolean NOT NULL DEFAULT false,
  PRIMARY KEY (tenant_id, project_id)
) WITH (fillfactor = 10);

CREATE TABLE head (
  tenant_id text COLLATE "C",
  project_id text COLLATE "C",
  subject text COLLATE "C",
  seq bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (tenant_id, project_id, subject)
) WITH (fillfactor = 70);

CREATE TABLE event (
  tenant_id text COLLATE "C",
  project_id text COLLATE "C",
  position bigint,
  at_ms bigint,
  event_type text COLLATE "C" NOT NULL,
  subject text COLLATE "C",
  task_id text COLLATE "C",
  feature_id text COLLATE "C",
  edge text COLLATE "C",
  agent_id text COLLATE "C",
  session_id text COLLATE "C",
  body text NOT NULL,
  PRIMARY KEY (tenant_id, project_id, position)
);
CREATE INDEX event_type ON event (tenant_id, project_id, event_type, position);
CREATE INDEX event_subject ON event (tenant_id, project_id, subject, position) WHERE subject IS NOT NULL;
CREATE INDEX event_task ON event (tenant_id, project_id, task_id, position) WHERE task_id IS NOT NULL;
CREATE INDEX event_feature ON event (tenant_id, project_id, feature_id, position) WHERE feature_id IS NOT NULL;
CREATE INDEX event_edge ON event (tenant_id, project_id, edge, position) WHERE edge IS NOT NULL;
CREATE INDEX event_agent ON event (tenant_id, project_id, agent_id, position) WHERE agent_id IS NOT NULL;
CREATE INDEX event_session ON event (tenant_id, project_id, session_id, position) WHERE session_id IS NOT NULL;
CREATE INDEX event_time ON event (tenant_id, project_id, at_ms, position);

CREATE TABLE note (
  tenant_id text COLLATE "C",
  project_id text COLLATE "C",
  event_id text COLLATE "C",
  PRIMARY KEY (tenant_id, project_id, event_id)
);

CREATE TABLE request (
  tenant_id text COLLATE "C",
  project_id text COLLATE "C",
  key text COLLATE "C",
  at_ms bigint NOT NULL,
  first_position bigint NOT NULL,
  events bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (tenant_id, project_id, key)
);
CREATE INDEX request_age ON request ((tenant_id || '/' || project_id), at_ms);

CREATE TABLE scope (
  tenant_id text COLLATE "C",
  scope text COLLATE "C",
  live bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, scope)
) WITH (fillfactor = 10);

CREATE TABLE slot (
  tenant_id text COLLATE "C",
  scope text COLLATE "C",
  project_id text COLLATE "C",
  member text COLLATE "C",
  until_ms bigint NOT NULL,
  PRIMARY KEY (tenant_id, scope, project_id, member)
) WITH (fillfactor = 70);

CREATE TABLE batch (
  batch_id uuid PRIMARY KEY,
  at_ms bigint NOT NULL,
  answer text NOT NULL
);
CREATE INDEX batch_age ON batch (at_ms);

CREATE TABLE blob (
  tenant_id text COLLATE "C",
  sha256 text COLLATE "C",
  bytes bytea NOT NULL,
  PRIMARY KEY (tenant_id, sha256)
);
ALTER TABLE blob ALTER COLUMN bytes SET STORAGE EXTERNAL;


CREATE FUNCTION forget_said(tenant text, project text, positions bigint[], bodies text[])
RETURNS void LANGUAGE sql AS 'SELECT';
CREATE FUNCTION commit_batch(batch uuid) RETURNS text LANGUAGE sql AS 'SELECT NULL::text';
ALTER TABLE event ENABLE ROW LEVEL SECURITY;
ALTER TABLE event FORCE ROW LEVEL SECURITY;
CREATE POLICY of_the_commit ON event TO CURRENT_USER USING (current_setting('genesis.commit', true) = 'on')
WITH CHECK (current_setting('genesis.commit', true) = 'on');
ALTER TABLE blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob FORCE ROW LEVEL SECURITY;
CREATE POLICY of_the_commit ON blob TO CURRENT_USER USING (current_setting('genesis.commit', true) = 'on')
WITH CHECK (current_setting('genesis.commit', true) = 'on');
CREATE POLICY of_the_tenant ON blob FOR SELECT USING (tenant_id = current_setting('genesis.tenant', true));
CREATE POLICY put_by_the_tenant ON blob FOR INSERT
WITH CHECK (tenant_id = current_setting('genesis.tenant', true));
INSERT INTO migration (version, name) VALUES (1, 'as it was'), (2, 'as it was');
