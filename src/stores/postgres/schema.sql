-- name: base
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

CREATE TABLE blob (
  tenant_id text COLLATE "C",
  sha256 text COLLATE "C",
  bytes bytea NOT NULL,
  PRIMARY KEY (tenant_id, sha256)
);
ALTER TABLE blob ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- name: set_old_aside
-- Renames the tables of versions 1 and 2, if there are any: the new tables have the same names but other columns.
SET LOCAL search_path = ${namespace}, pg_temp;
ALTER TABLE IF EXISTS project RENAME TO old_project;
ALTER TABLE IF EXISTS head RENAME TO old_head;
ALTER TABLE IF EXISTS event RENAME TO old_event;
ALTER TABLE IF EXISTS note RENAME TO old_note;
ALTER TABLE IF EXISTS request RENAME TO old_request;
ALTER TABLE IF EXISTS scope RENAME TO old_scope;
ALTER TABLE IF EXISTS slot RENAME TO old_slot;
DROP TABLE IF EXISTS batch;
DROP FUNCTION IF EXISTS commit_batch;
DROP FUNCTION IF EXISTS decide;
DROP FUNCTION IF EXISTS forget;
DROP FUNCTION IF EXISTS forget_said;
DROP POLICY IF EXISTS of_the_commit ON blob;
DROP POLICY IF EXISTS of_the_tenant ON blob;
DROP POLICY IF EXISTS put_by_the_tenant ON blob;

-- name: tables
-- Names compare by bytes, whatever the locale of the database. A row names its project by number. Pages of rows that
-- are often updated keep free space, so that updates touch no index. Bodies are JSON as text: no SQL reads them.
--
-- `written` is true once a transaction has changed anything: a row that was only locked is not a project yet. `due_ms` is
-- a lower bound of the earliest end of a permit on a head: commits lower it, `due_projects` makes it exact.
CREATE TABLE project (
  project_no int GENERATED ALWAYS AS IDENTITY CONSTRAINT project_by_no UNIQUE,
  tenant_id text COLLATE "C",
  project_id text COLLATE "C",
  position bigint NOT NULL DEFAULT 0,
  rules_seq bigint NOT NULL DEFAULT 0,
  requests bigint NOT NULL DEFAULT 0,
  last_ms bigint NOT NULL DEFAULT 0,
  due_ms bigint,
  written boolean NOT NULL DEFAULT false,
  CONSTRAINT project_by_name PRIMARY KEY (tenant_id, project_id)
) WITH (fillfactor = 10);
CREATE INDEX project_by_due ON project (due_ms, project_no) WHERE due_ms IS NOT NULL;

-- The permit on a head: its scope, its end, and whether the scope counts it. It is kept when it has ended, until it is
-- released. `has_permit` changes less often than the end, so an index on it leaves renewals alone.
CREATE TABLE head (
  project_no int,
  permit_scope_no int,
  seq bigint NOT NULL,
  permit_until_ms bigint,
  has_permit boolean NOT NULL DEFAULT false,
  is_counted boolean NOT NULL DEFAULT false,
  subject text COLLATE "C",
  body text NOT NULL,
  CONSTRAINT head_by_subject PRIMARY KEY (project_no, subject)
) WITH (fillfactor = 50);
CREATE INDEX head_by_permit ON head (project_no) WHERE has_permit;

-- `task_is_subject`: the task id of the event equals its subject, and the column `task_id` is null.
CREATE TABLE event (
  project_no int,
  task_is_subject boolean NOT NULL,
  position bigint,
  at_ms bigint,
  event_type text COLLATE "C" NOT NULL,
  subject text COLLATE "C",
  task_id text COLLATE "C",
  feature_id text COLLATE "C",
  edge text COLLATE "C",
  agent_id text COLLATE "C",
  session_id text COLLATE "C",
  body text NOT NULL
);

-- The ids of loose events, which are written once. They are in a separate table, because in the table of events the
-- planner might choose another index.
CREATE TABLE loose_event (
  project_no int,
  event_id text COLLATE "C",
  CONSTRAINT loose_event_by_id PRIMARY KEY (project_no, event_id)
);

CREATE TABLE request (
  project_no int,
  event_count int NOT NULL,
  first_position bigint NOT NULL,
  key text COLLATE "C",
  digest text NOT NULL,
  reply text,
  CONSTRAINT request_by_key PRIMARY KEY (project_no, key)
);

-- The requests that a batch kept, to be forgotten together: an index of requests by age would cost more.
CREATE TABLE kept_requests (
  project_no int,
  at_ms bigint NOT NULL,
  keys text[] NOT NULL
);
ALTER TABLE kept_requests ALTER COLUMN keys SET STORAGE EXTERNAL;
CREATE INDEX kept_requests_by_age ON kept_requests (project_no, at_ms);

-- How many permits a scope has, including those that have ended and were not yet removed.
CREATE TABLE scope (
  scope_no int GENERATED ALWAYS AS IDENTITY,
  tenant_id text COLLATE "C",
  scope text COLLATE "C",
  live bigint NOT NULL DEFAULT 0,
  CONSTRAINT scope_by_name PRIMARY KEY (tenant_id, scope)
) WITH (fillfactor = 10);

-- Permits that are not on a head.
CREATE TABLE permit (
  scope_no int,
  project_no int,
  member text COLLATE "C",
  until_ms bigint NOT NULL,
  CONSTRAINT permit_by_member PRIMARY KEY (scope_no, project_no, member)
) WITH (fillfactor = 70);

CREATE TABLE batch (
  batch_id uuid CONSTRAINT batch_by_id PRIMARY KEY,
  at_ms bigint NOT NULL,
  reply text NOT NULL
);
CREATE INDEX batch_by_age ON batch (at_ms);

-- name: copy_old
-- Copies the old tables, if there are any: a new schema has none. The claims of a project were permits of the scope `claims`.
SELECT set_config('genesis.commit', 'on', true);
DO $$
BEGIN
  IF to_regclass('old_project') IS NULL THEN RETURN; END IF;

  INSERT INTO project (tenant_id, project_id, position, rules_seq, requests, last_ms, written)
  SELECT tenant_id, project_id, position, rules_seq, requests, last_ms, written
  FROM old_project ORDER BY tenant_id, project_id;
  INSERT INTO scope (tenant_id, scope, live) SELECT tenant_id, scope, live FROM old_scope ORDER BY tenant_id, scope;
  ANALYZE project, scope;

  INSERT INTO head (project_no, subject, seq, body, permit_scope_no, permit_until_ms, has_permit, is_counted)
  SELECT p.project_no, h.subject, h.seq, h.body, c.scope_no, s.until_ms, s.until_ms IS NOT NULL, s.until_ms IS NOT NULL
  FROM old_head h JOIN project p USING (tenant_id, project_id)
  LEFT JOIN scope c ON c.tenant_id = h.tenant_id AND c.scope = 'claims'
  LEFT JOIN old_slot s ON s.tenant_id = h.tenant_id AND s.scope = c.scope AND s.project_id = h.project_id
                      AND s.member = h.subject
  ORDER BY p.project_no, h.subject;
  UPDATE head SET permit_scope_no = NULL WHERE NOT has_permit AND permit_scope_no IS NOT NULL;
  UPDATE project p SET due_ms = d.due_ms
  FROM (SELECT project_no, min(permit_until_ms) AS due_ms FROM head WHERE has_permit GROUP BY 1) AS d
  WHERE p.project_no = d.project_no;

  INSERT INTO permit (scope_no, project_no, member, until_ms)
  SELECT c.scope_no, p.project_no, s.member, s.until_ms
  FROM old_slot s JOIN project p USING (tenant_id, project_id)
  JOIN scope c ON c.tenant_id = s.tenant_id AND c.scope = s.scope
  WHERE NOT (s.scope = 'claims' AND EXISTS (
    SELECT FROM head h WHERE h.project_no = p.project_no AND h.subject = s.member));

  INSERT INTO event (project_no, task_is_subject, position, at_ms, event_type, subject, task_id, feature_id, edge,
                     agent_id, session_id, body)
  SELECT p.project_no, e.task_id IS NOT NULL AND e.task_id IS NOT DISTINCT FROM e.subject, e.position, e.at_ms,
         e.event_type, e.subject, CASE WHEN e.task_id IS DISTINCT FROM e.subject THEN e.task_id END, e.feature_id,
         e.edge, e.agent_id, e.session_id, e.body
  FROM old_event e JOIN project p USING (tenant_id, project_id);

  INSERT INTO loose_event (project_no, event_id)
  SELECT p.project_no, n.event_id FROM old_note n JOIN project p USING (tenant_id, project_id);

  INSERT INTO request (project_no, event_count, first_position, key, digest, reply)
  SELECT p.project_no, r.events, r.first_position, r.key, r.body::json ->> 'digest', (r.body::json -> 'reply')::text
  FROM old_request r JOIN project p USING (tenant_id, project_id);
  INSERT INTO kept_requests (project_no, at_ms, keys)
  SELECT p.project_no, r.at_ms, array_agg(r.key)
  FROM old_request r JOIN project p USING (tenant_id, project_id) GROUP BY 1, 2 ORDER BY 2;

  DROP TABLE old_project, old_head, old_event, old_note, old_request, old_scope, old_slot;
END $$;

-- name: indexes
-- Created after the copy, which is faster without them.
ALTER TABLE event ADD CONSTRAINT event_by_position PRIMARY KEY (project_no, position);
CREATE INDEX event_by_subject ON event (project_no, subject, position) WHERE subject IS NOT NULL;
CREATE INDEX event_by_time ON event USING brin (at_ms) WITH (pages_per_range = 16, autosummarize = on);

-- name: names
-- An index of the names of events, except subjects: an index per field would cost more, because every event of a claim
-- has a type, an agent and a session.
-- A row has the keys of the names that occur in up to ${block_events} adjacent events of a project. GIN collects new keys in a
-- list and merges many at once, at a third of the price of an index per name. A key is the hash of the name, its field,
-- its project and the position without its low ${epoch_bits} bits, so that a query reads a long log part by part. The table is
-- without row-level security, under which the planner would not use the index; no role but the owner may read it.
SET LOCAL search_path = ${namespace}, pg_temp;
SELECT set_config('genesis.commit', 'on', true);
DROP INDEX IF EXISTS event_by_type, event_by_task, event_by_feature, event_by_edge, event_by_agent, event_by_session;
-- Whether the permit counted before the latest change: an update can return this only as a column of the new row.
ALTER TABLE head ADD COLUMN was_counted boolean;
CREATE TABLE event_names (
  project_no int NOT NULL,
  first_position bigint NOT NULL,
  last_position bigint NOT NULL,
  keys bigint[] NOT NULL
);
INSERT INTO event_names (project_no, first_position, last_position, keys)
SELECT k.project_no, min(k.position), max(k.position), array_agg(DISTINCT k.key)
FROM (
  SELECT e.project_no, e.position, e.position / ${block_events} AS block, unnest(${keys_of_event}) AS key FROM event e
) AS k
WHERE k.key IS NOT NULL GROUP BY k.project_no, k.block ORDER BY k.project_no, k.block;
CREATE INDEX event_by_name ON event_names USING gin (keys) WITH (fastupdate = on, gin_pending_list_limit = 512);

-- name: function_settings
-- The functions look up every row by key, so these settings force index access even for a table that has just grown. The
-- statements join every column of a key to the list they look up: with a constant in place of a column, the planner
-- would read all rows with that constant for each row of the list.
ALTER FUNCTION ${function} SET search_path = ${namespace}, pg_temp;
ALTER FUNCTION ${function} SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION ${function} SET enable_seqscan = off;
ALTER FUNCTION ${function} SET enable_hashjoin = off;
ALTER FUNCTION ${function} SET enable_mergejoin = off;
ALTER FUNCTION ${function} SET enable_material = off;
ALTER FUNCTION ${function} SET jit = off;

-- name: read_settings
ALTER FUNCTION due_projects SET search_path = ${namespace}, pg_temp;
ALTER FUNCTION due_projects SET enable_seqscan = off;
ALTER FUNCTION count_permits SET search_path = ${namespace}, pg_temp;
ALTER FUNCTION count_permits SET enable_seqscan = off;
ALTER FUNCTION redact_events SET search_path = ${namespace}, pg_temp;
REVOKE ALL ON FUNCTION due_projects, count_permits, redact_events FROM PUBLIC;

-- name: held_settings
ALTER FUNCTION held_projects SET search_path = ${namespace}, pg_temp;
ALTER FUNCTION held_projects SET enable_seqscan = off;
REVOKE ALL ON FUNCTION held_projects FROM PUBLIC;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${write_role}') THEN
    GRANT EXECUTE ON FUNCTION held_projects TO ${write_role};
  END IF;
END $$;

-- name: tenants_settings
ALTER FUNCTION tenants SET search_path = ${namespace}, pg_temp;
REVOKE ALL ON FUNCTION tenants FROM PUBLIC;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${write_role}') THEN
    GRANT EXECUTE ON FUNCTION tenants TO ${write_role};
  END IF;
END $$;

-- name: function_access
REVOKE ALL ON FUNCTION decide, start_commit, remove_ended_permits, write_permits, write_simple_permits, write_names, forget,
forget_requests, commit_batch, commit_simple, events_named FROM PUBLIC;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${write_role}') THEN
    GRANT EXECUTE ON FUNCTION commit_batch, commit_simple TO ${write_role};
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${read_role}') THEN
    GRANT EXECUTE ON FUNCTION events_named TO ${read_role};
  END IF;
END $$;

-- name: commit_policy
-- The owner sees all rows only inside its own functions. The subquery reads the setting once per statement.
ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;
CREATE POLICY of_commit ON ${table} TO CURRENT_USER
USING ((SELECT current_setting('genesis.commit', true)) = 'on')
WITH CHECK ((SELECT current_setting('genesis.commit', true)) = 'on');

-- name: tenant_policy
-- A reader sees the tenant that its transaction names.
CREATE POLICY of_tenant ON ${table} FOR SELECT
USING (tenant_id = (SELECT current_setting('genesis.tenant', true)));

-- name: project_policy
-- A reader sees the project that its transaction names, and only if it names the tenant too.
CREATE POLICY of_project ON ${table} FOR SELECT
USING (project_no = (
  SELECT p.project_no FROM project p
  WHERE p.tenant_id = current_setting('genesis.tenant', true) AND p.project_id = current_setting('genesis.project', true)
));

-- name: access
CREATE POLICY of_tenant_insert ON blob FOR INSERT
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
    GRANT EXECUTE ON FUNCTION redact_events, due_projects TO ${write_role};
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${read_role}') THEN
    GRANT USAGE ON SCHEMA ${namespace} TO ${read_role};
    GRANT SELECT ON migration, project, head, event, blob TO ${read_role};
    GRANT EXECUTE ON FUNCTION count_permits TO ${read_role};
  END IF;
END $$;
