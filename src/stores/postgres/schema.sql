-- name: tables
-- Names compare by bytes, whatever the locale of the database. Pages of rows that are often updated keep free space, so
-- that updates touch no index. Bodies are JSON as text: no SQL reads them.
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

-- Written once a unit has changed anything; a row that was only locked is no project yet.
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

-- Of events that are put once. In a table of its own: among the indexes of the events, the one for these might not be
-- the one that is taken.
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
-- On an expression, so that nobody who looks for a key can take it for the primary key.
CREATE INDEX request_age ON request ((tenant_id || '/' || project_id), at_ms);

-- How many slots there are in a scope, those included that have run out and were not yet removed.
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

-- name: commit_settings
-- The commit looks up every row by key, so these settings force index access even for a table that has just grown.
ALTER FUNCTION commit_batch SET search_path = ${namespace}, pg_temp;
ALTER FUNCTION commit_batch SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION commit_batch SET enable_seqscan = off;
ALTER FUNCTION commit_batch SET enable_hashjoin = off;
ALTER FUNCTION commit_batch SET enable_mergejoin = off;
ALTER FUNCTION commit_batch SET jit = off;
REVOKE ALL ON FUNCTION decide, forget, commit_batch FROM PUBLIC;

-- name: policy_of_the_commit
-- The owner sees all rows only inside the commit.
ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;
CREATE POLICY of_the_commit ON ${table} TO CURRENT_USER
USING (current_setting('genesis.commit', true) = 'on') WITH CHECK (current_setting('genesis.commit', true) = 'on');

-- name: policy_of_the_tenant
-- A reader sees the tenant that its transaction names.
CREATE POLICY of_the_tenant ON ${table} FOR SELECT
USING (tenant_id = current_setting('genesis.tenant', true));

-- name: access
CREATE POLICY put_by_the_tenant ON blob FOR INSERT
WITH CHECK (tenant_id = current_setting('genesis.tenant', true));

-- Roles are global to the server, and not every user may create them: without them the owner reads and writes.
DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['${write_role}', '${read_role}'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
      EXECUTE format('GRANT %I TO CURRENT_USER', wanted);
    END IF;
  END LOOP;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
  RAISE NOTICE 'The roles were not made: %', SQLERRM;
END $$;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${write_role}') THEN
    GRANT USAGE ON SCHEMA ${namespace} TO ${write_role};
    GRANT SELECT ON migration, meta TO ${write_role};
    GRANT INSERT ON blob TO ${write_role};
    GRANT EXECUTE ON FUNCTION commit_batch TO ${write_role};
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${read_role}') THEN
    GRANT USAGE ON SCHEMA ${namespace} TO ${read_role};
    GRANT SELECT ON migration, project, head, event, slot, blob TO ${read_role};
  END IF;
END $$;

-- name: redaction
-- Retention: replaces the bodies of existing events with reduced ones.
SET LOCAL search_path = ${namespace}, pg_temp;

CREATE FUNCTION forget_said(tenant text, project text, positions bigint[], bodies text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  -- What lets the owner past row-level security, which is forced on it too.
  PERFORM set_config('genesis.commit', 'on', true);
  UPDATE event e SET body = said.body
  FROM unnest(positions, bodies) AS said (position, body)
  WHERE e.tenant_id = tenant AND e.project_id = project AND e.position = said.position;
END $$;

ALTER FUNCTION forget_said SET search_path = ${namespace}, pg_temp;
REVOKE ALL ON FUNCTION forget_said FROM PUBLIC;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${write_role}') THEN
    GRANT EXECUTE ON FUNCTION forget_said TO ${write_role};
  END IF;
END $$;
