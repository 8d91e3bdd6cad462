-- name: clock_ms
-- SYSDATE is the current time; NOW is when the call began, before it waited for locks.
FLOOR(UNIX_TIMESTAMP(SYSDATE(6)) * 1000)
-- name: session
SET SESSION
  sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',
  innodb_lock_wait_timeout = ${lock_wait_seconds};
-- name: isolation
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- name: variables
SHOW VARIABLES WHERE Variable_name IN ('version', 'read_only', 'super_read_only', 'innodb_read_only', 'log_bin',
  'innodb_flush_log_at_trx_commit', 'sync_binlog', 'binlog_format', 'max_allowed_packet');
-- name: json_value
SELECT j.text FROM JSON_TABLE(?, '$[*]' COLUMNS (text VARCHAR(9) PATH '$')) j;
-- name: clock_before_and_after
SELECT DATE_FORMAT(SYSDATE(6), '%f') AS before_us, SLEEP(0.002), DATE_FORMAT(SYSDATE(6), '%f') AS after_us;
-- name: schema_version
SELECT MAX(version) AS version FROM `${namespace}`.migrations;
-- name: lock_migrations
SELECT GET_LOCK(?, ?) AS taken;
-- name: unlock_migrations
SELECT RELEASE_LOCK(?);
-- name: add_meta
INSERT INTO meta (one, incarnation, secret) VALUES (1, 1, ?) ON DUPLICATE KEY UPDATE one = 1;
-- name: add_migration
INSERT INTO migrations (version, name) VALUES (?, ?);
-- name: commit_common
CALL commit_common(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- name: commit_batch
CALL commit_batch(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- name: held_projects
-- Reads only the part of the index that has permits, and no head.
SELECT p.tenant_id, p.project_id
FROM (SELECT DISTINCT project_no FROM head USE INDEX (by_permit)
      WHERE permit_scope IS NOT NULL
        AND project_no > COALESCE((SELECT a.project_no FROM project a WHERE a.tenant_id = ? AND a.project_id = ?), 0)
      ORDER BY project_no LIMIT ?) h
JOIN project p ON p.project_no = h.project_no ORDER BY p.project_no;
-- name: due_projects
CALL due_projects(?, ?);
-- name: prune_batches
DELETE FROM batch WHERE now_ms < ${clock_ms} - ${keep_ms}
ORDER BY now_ms LIMIT ${limit};
-- name: redact
UPDATE project p STRAIGHT_JOIN event e ON e.project_no = p.project_no SET e.event = ?
WHERE p.tenant_id = ? AND p.project_id = ? AND e.position = ?;
-- name: heads
SELECT h.head
FROM project p
STRAIGHT_JOIN JSON_TABLE(?, '$[*]' COLUMNS (subject VARBINARY(1500) PATH '$')) j
STRAIGHT_JOIN head h ON h.project_no = p.project_no AND h.subject = j.subject
WHERE p.tenant_id = ? AND p.project_id = ?;
-- name: scan_heads
SELECT h.head FROM project p STRAIGHT_JOIN head h FORCE INDEX (PRIMARY) ON h.project_no = p.project_no
WHERE p.tenant_id = ? AND p.project_id = ? AND h.subject > ?
ORDER BY h.subject LIMIT ?;
-- name: events
SELECT e.position, e.event FROM project p STRAIGHT_JOIN event e FORCE INDEX (${index}) ON e.project_no = p.project_no
WHERE p.tenant_id = ? AND p.project_id = ? AND ${condition}
ORDER BY e.position LIMIT ${limit};
-- name: blocks_of_names
SELECT DISTINCT n.block FROM project p STRAIGHT_JOIN event_name n ON n.project_no = p.project_no
WHERE p.tenant_id = ? AND p.project_id = ? AND n.field = ? AND n.name IN (?) AND n.block BETWEEN ? AND ?
ORDER BY n.block LIMIT ${limit};
-- name: blocks_of_time
SELECT MIN(t.block) AS first, MAX(t.block) AS last
FROM project p STRAIGHT_JOIN event_time t ON t.project_no = p.project_no
WHERE p.tenant_id = ? AND p.project_id = ? AND t.last_ms >= ? AND t.first_ms < ?;
-- name: project
SELECT position, rules_seq FROM project WHERE tenant_id = ? AND project_id = ? AND is_written;
-- name: projects
SELECT project_id FROM project WHERE tenant_id = ? AND is_written ORDER BY project_id;
-- name: tenants
SELECT DISTINCT tenant_id FROM project WHERE is_written ORDER BY tenant_id;
-- name: count_permits
SELECT (SELECT COUNT(*) FROM permit p WHERE p.scope_no = q.scope_no AND p.until_ms > q.now_ms)
  + (SELECT COUNT(*) FROM head h WHERE h.permit_scope = q.scope_no AND h.permit_until_ms > q.now_ms) AS live
FROM (
  SELECT c.scope_no, GREATEST(t.latest_ms, ${clock_ms}) AS now_ms
  FROM (SELECT ? AS tenant_id, ? AS scope, ? AS latest_ms) t
  STRAIGHT_JOIN scope c ON c.tenant_id = t.tenant_id AND c.scope = t.scope
) q;
-- name: now
SELECT ${clock_ms} AS now_ms;
-- name: meta
SELECT incarnation, secret FROM meta;
-- name: raise_incarnation
UPDATE meta SET incarnation = greatest(incarnation, ?);
-- name: put_blob
INSERT INTO blobs (tenant_id, sha256, part, bytes) VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE part = part;
-- name: get_blob
SELECT bytes FROM blobs WHERE tenant_id = ? AND sha256 = ? ORDER BY part;
-- name: size_of_blob
SELECT SUM(LENGTH(bytes)) AS size FROM blobs WHERE tenant_id = ? AND sha256 = ?;
