-- name: server_info
SELECT pg_is_in_recovery() AS is_replica, current_setting('default_transaction_read_only') AS read_only,
current_setting('server_version_num')::int AS version;
-- name: read_role
-- The role that owns nothing, if it exists and the user is a member of it.
SELECT coalesce(
  (SELECT rolname::text FROM pg_roles
   WHERE rolname = '${read_role}' AND pg_has_role(current_user, oid, 'MEMBER')), 'none') AS role;
-- name: clock_ms
floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
-- name: as_tenant
SELECT set_config('role', $1, true), set_config('genesis.tenant', $2, true), set_config('genesis.project', $3, true);
-- name: has_schema
-- Queries the catalogue directly: name lookups cached by a connection may predate a lock it waited for.
SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = '${namespace}' AND tablename = 'migration') AS there;
-- name: schema_version
SELECT max(version) AS found FROM ${namespace}.migration;
-- name: lock_migrations
SELECT pg_advisory_xact_lock(hashtextextended($1, 0));
-- name: add_migration
INSERT INTO ${namespace}.migration (version, name) VALUES ($1, $2);
-- name: commit
SELECT ${namespace}.commit_batch(${parameters}) AS reply;
-- name: commit_simple
SELECT ${namespace}.commit_simple(${parameters}) AS reply;
-- name: redact
SELECT ${namespace}.redact_events($1, $2, $3::bigint[], $4::text[]);
-- name: of_project
project_no = (SELECT p.project_no FROM ${namespace}.project p WHERE p.tenant_id = $1 AND p.project_id = $2)
-- name: heads
SELECT body AS head FROM ${namespace}.head WHERE ${of_project} AND subject = ANY ($3::text[]);
-- name: scan_heads
SELECT body AS head FROM ${namespace}.head WHERE ${of_project} AND subject > $3 ORDER BY subject LIMIT $4;
-- name: event_columns
position, task_is_subject, event_type, subject, task_id, feature_id, edge, agent_id, session_id, body
-- name: events
SELECT ${event_columns} FROM ${namespace}.event
WHERE ${of_project} AND ${condition} ORDER BY position LIMIT ${limit};
-- name: events_named
SELECT ${event_columns} FROM ${namespace}.events_named($1, $2, ${parameters});
-- name: events_of_task
-- Combines the two ways in which the task of an event is stored.
SELECT found.* FROM ((${as_subject}) UNION ALL (${as_task})) AS found
ORDER BY position LIMIT ${limit};
-- name: project
SELECT position, rules_seq FROM ${namespace}.project
WHERE tenant_id = $1 AND project_id = $2 AND written;
-- name: projects
SELECT project_id FROM ${namespace}.project WHERE tenant_id = $1 AND written ORDER BY project_id;
-- name: tenants
SELECT tenant_id FROM ${namespace}.tenants();
-- name: count_permits
SELECT ${namespace}.count_permits($1, $2, $3) AS live;
-- name: due_projects
SELECT tenant_id, project_id FROM ${namespace}.due_projects($1, $2);
-- name: held_projects
SELECT tenant_id, project_id FROM ${namespace}.held_projects($1, $2, $3);
-- name: now
SELECT ${clock_ms} AS now_ms;
-- name: meta
SELECT incarnation, secret FROM ${namespace}.meta;
-- name: raise_incarnation
UPDATE ${namespace}.meta SET incarnation = greatest(incarnation, $1);
-- name: put_blob
INSERT INTO ${namespace}.blob (tenant_id, sha256, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;
-- name: get_blob
SELECT bytes FROM ${namespace}.blob WHERE tenant_id = $1 AND sha256 = $2;
-- name: size_of_blob
SELECT octet_length(bytes) AS size FROM ${namespace}.blob WHERE tenant_id = $1 AND sha256 = $2;
