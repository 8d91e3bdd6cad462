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
-- name: commit
CALL commit_batch(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- name: prune_batches
DELETE FROM batches WHERE now_ms < ${clock_ms} - ${keep_ms}
ORDER BY now_ms LIMIT ${limit};
-- name: redact
UPDATE events SET event = ? WHERE tenant_id = ? AND project_id = ? AND position = ?;
-- name: heads
SELECT h.head
FROM JSON_TABLE(?, '$[*]' COLUMNS (subject VARBINARY(1500) PATH '$')) j
STRAIGHT_JOIN heads h ON h.tenant_id = ? AND h.project_id = ? AND h.subject = j.subject;
-- name: scan_heads
SELECT head FROM heads
WHERE tenant_id = ? AND project_id = ? AND subject > ?
ORDER BY subject LIMIT ?;
-- name: events
SELECT ${columns} FROM events FORCE INDEX (${index})
WHERE ${condition}
ORDER BY position LIMIT ${limit};
-- name: events_of_types
-- Merged by position before the texts are read: to merge texts, MariaDB creates a table on disk.
SELECT e.position, e.event FROM (
  ${pages} ORDER BY position LIMIT ${limit}
) p STRAIGHT_JOIN events e ON e.tenant_id = ? AND e.project_id = ? AND e.position = p.position
ORDER BY p.position;
-- name: project
SELECT position, rules_seq FROM projects WHERE tenant_id = ? AND project_id = ? AND is_written;
-- name: projects
SELECT project_id FROM projects WHERE tenant_id = ? AND is_written ORDER BY project_id;
-- name: count_permits
SELECT COUNT(*) AS live FROM places
WHERE tenant_id = ? AND scope = ? AND until_ms > GREATEST(?, ${clock_ms});
-- name: now
SELECT ${clock_ms} AS now_ms;
-- name: meta
SELECT incarnation, secret FROM meta;
-- name: put_blob
INSERT INTO blobs (tenant_id, sha256, part, bytes) VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE part = part;
-- name: get_blob
SELECT bytes FROM blobs WHERE tenant_id = ? AND sha256 = ? ORDER BY part;
-- name: size_of_blob
SELECT SUM(LENGTH(bytes)) AS size FROM blobs WHERE tenant_id = ? AND sha256 = ?;
