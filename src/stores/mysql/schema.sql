-- name: database
CREATE DATABASE IF NOT EXISTS `${namespace}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
USE `${namespace}`;
CREATE TABLE IF NOT EXISTS migrations (version INT NOT NULL PRIMARY KEY, name VARCHAR(200) NOT NULL) ENGINE = InnoDB;

-- name: tables_1
-- The tables of version 1, as far as step 2 reads them.
CREATE TABLE IF NOT EXISTS meta (
  one TINYINT NOT NULL PRIMARY KEY,
  incarnation BIGINT NOT NULL,
  secret CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS projects (
  tenant_id VARBINARY(128) NOT NULL, project_id VARBINARY(128) NOT NULL,
  position BIGINT NOT NULL DEFAULT 0,
  rules_seq BIGINT NOT NULL DEFAULT 0,
  last_ms BIGINT NOT NULL DEFAULT 0,
  requests_made BIGINT NOT NULL DEFAULT 0,
  is_written TINYINT NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, project_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS heads (
  tenant_id VARBINARY(128) NOT NULL, project_id VARBINARY(128) NOT NULL,
  subject VARBINARY(1500) NOT NULL,
  seq BIGINT NOT NULL,
  head LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (tenant_id, project_id, subject)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS events (
  tenant_id VARBINARY(128) NOT NULL, project_id VARBINARY(128) NOT NULL,
  position BIGINT NOT NULL,
  event_type VARBINARY(1500) NOT NULL,
  subject VARBINARY(1500), task_id VARBINARY(1500), feature_id VARBINARY(1500), edge VARBINARY(1500),
  agent_id VARBINARY(1500), session_id VARBINARY(1500),
  at_ms BIGINT,
  event LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (tenant_id, project_id, position)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS notes (
  tenant_id VARBINARY(128) NOT NULL, project_id VARBINARY(128) NOT NULL,
  event_id VARBINARY(1500) NOT NULL,
  PRIMARY KEY (tenant_id, project_id, event_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS requests (
  tenant_id VARBINARY(128) NOT NULL, project_id VARBINARY(128) NOT NULL,
  request_key VARBINARY(1500) NOT NULL,
  digest VARBINARY(1500) NOT NULL,
  reply LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  first_position BIGINT NOT NULL,
  position_count INT NOT NULL,
  number BIGINT NOT NULL,
  at_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, project_id, request_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS scopes (
  tenant_id VARBINARY(128) NOT NULL,
  scope VARBINARY(1000) NOT NULL,
  live_at_most BIGINT NOT NULL,
  counted BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, scope)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS places (
  tenant_id VARBINARY(128) NOT NULL,
  scope VARBINARY(1000) NOT NULL,
  project_id VARBINARY(128) NOT NULL,
  member VARBINARY(1500) NOT NULL,
  until_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, scope, project_id, member)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS blobs (
  tenant_id VARBINARY(128) NOT NULL,
  sha256 BINARY(32) NOT NULL,
  part INT NOT NULL,
  bytes LONGBLOB NOT NULL,
  PRIMARY KEY (tenant_id, sha256, part)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- name: tables
-- Names are bytes, at most NAME_BYTES_MAX (see name-encoding.ts), or 128 for tenants and projects: no collation folds or
-- pads them, and they compare fast. JSON texts are bytes too, so that the server does not check their encoding. Rows name
-- their project by its number, because InnoDB repeats the primary key in every index.
CREATE TABLE IF NOT EXISTS project (
  tenant_id VARBINARY(128) NOT NULL, project_id VARBINARY(128) NOT NULL,
  project_no INT UNSIGNED NOT NULL AUTO_INCREMENT,
  position BIGINT NOT NULL DEFAULT 0,
  rules_seq BIGINT NOT NULL DEFAULT 0,
  last_ms BIGINT NOT NULL DEFAULT 0,
  requests_made BIGINT NOT NULL DEFAULT 0,
  is_written TINYINT NOT NULL DEFAULT 0,
  -- No permit on a head ends before this.
  due_ms BIGINT NOT NULL DEFAULT ${forever_ms},
  PRIMARY KEY (tenant_id, project_id),
  UNIQUE KEY by_number (project_no),
  KEY by_due (due_ms)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
-- `permit_scope` and `permit_until_ms` are the permit on the head: both are null if there is none. An ended permit stays
-- until it is released.
CREATE TABLE IF NOT EXISTS head (
  project_no INT UNSIGNED NOT NULL,
  subject VARBINARY(1500) NOT NULL,
  seq BIGINT NOT NULL,
  permit_scope INT UNSIGNED,
  permit_until_ms BIGINT,
  head LONGBLOB NOT NULL,
  PRIMARY KEY (project_no, subject),
  KEY by_permit (permit_scope, project_no)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS event (
  project_no INT UNSIGNED NOT NULL,
  position BIGINT NOT NULL,
  subject VARBINARY(1500),
  agent_id VARBINARY(1500),
  session_id VARBINARY(1500),
  event LONGBLOB NOT NULL,
  PRIMARY KEY (project_no, position),
  KEY by_subject (project_no, subject, position),
  KEY by_agent_id (project_no, agent_id, position),
  KEY by_session_id (project_no, session_id, position)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
-- The blocks of ${block_events} positions in which a name occurs, for fields with few values: one row for many events.
CREATE TABLE IF NOT EXISTS event_name (
  project_no INT UNSIGNED NOT NULL,
  field TINYINT UNSIGNED NOT NULL,
  name VARBINARY(1500) NOT NULL,
  block INT UNSIGNED NOT NULL,
  PRIMARY KEY (project_no, field, name, block)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
-- The earliest and the latest time of the events in a block.
CREATE TABLE IF NOT EXISTS event_time (
  project_no INT UNSIGNED NOT NULL,
  block INT UNSIGNED NOT NULL,
  first_ms BIGINT NOT NULL,
  last_ms BIGINT NOT NULL,
  PRIMARY KEY (project_no, block)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS loose_event (
  project_no INT UNSIGNED NOT NULL,
  event_id VARBINARY(1500) NOT NULL,
  PRIMARY KEY (project_no, event_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS request (
  project_no INT UNSIGNED NOT NULL,
  request_key VARBINARY(1500) NOT NULL,
  digest VARBINARY(1500) NOT NULL,
  reply LONGBLOB,
  first_position BIGINT NOT NULL,
  position_count INT NOT NULL,
  number BIGINT NOT NULL,
  at_ms BIGINT NOT NULL,
  PRIMARY KEY (project_no, request_key),
  KEY by_number (project_no, number)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
-- `live_at_most` is an upper bound: the permits of the last count, and every permit taken since.
CREATE TABLE IF NOT EXISTS scope (
  tenant_id VARBINARY(128) NOT NULL,
  scope VARBINARY(1500) NOT NULL,
  scope_no INT UNSIGNED NOT NULL AUTO_INCREMENT,
  live_at_most BIGINT NOT NULL DEFAULT 0,
  counted BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, scope),
  UNIQUE KEY by_number (scope_no)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
-- The permits that are not on a head.
CREATE TABLE IF NOT EXISTS permit (
  scope_no INT UNSIGNED NOT NULL,
  project_no INT UNSIGNED NOT NULL,
  member VARBINARY(1500) NOT NULL,
  until_ms BIGINT NOT NULL,
  PRIMARY KEY (scope_no, project_no, member)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS batch (
  batch_id BINARY(16) NOT NULL,
  run INT NOT NULL,
  position BIGINT NOT NULL,
  rules_seq BIGINT NOT NULL,
  now_ms BIGINT NOT NULL,
  refused LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  kept LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (batch_id, run),
  KEY by_age (now_ms)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- name: of_project
JOIN project p ON p.tenant_id = o.tenant_id AND p.project_id = o.project_id
-- name: copy
-- Copies the data of version 1. A copied row is skipped, so an interrupted copy can continue.
INSERT IGNORE INTO project (tenant_id, project_id, position, rules_seq, last_ms, requests_made, is_written)
SELECT tenant_id, project_id, position, rules_seq, last_ms, requests_made, is_written FROM projects;
INSERT IGNORE INTO scope (tenant_id, scope, live_at_most, counted)
SELECT tenant_id, scope, live_at_most, counted FROM scopes;
INSERT IGNORE INTO head (project_no, subject, seq, permit_scope, permit_until_ms, head)
SELECT p.project_no, o.subject, o.seq, c.scope_no, l.until_ms, o.head
FROM heads o ${of_project}
LEFT JOIN places l ON l.tenant_id = o.tenant_id AND l.scope = '${claims_scope}' AND l.project_id = o.project_id
  AND l.member = o.subject
LEFT JOIN scope c ON c.tenant_id = l.tenant_id AND c.scope = l.scope;
INSERT IGNORE INTO permit (scope_no, project_no, member, until_ms)
SELECT c.scope_no, p.project_no, o.member, o.until_ms
FROM places o ${of_project}
JOIN scope c ON c.tenant_id = o.tenant_id AND c.scope = o.scope
LEFT JOIN head h ON h.project_no = p.project_no AND h.subject = o.member AND h.permit_scope = c.scope_no
WHERE h.subject IS NULL;
UPDATE project p JOIN (
  SELECT project_no, MIN(permit_until_ms) AS due_ms FROM head WHERE permit_scope IS NOT NULL GROUP BY project_no
) h ON h.project_no = p.project_no SET p.due_ms = h.due_ms;
INSERT IGNORE INTO loose_event (project_no, event_id) SELECT p.project_no, o.event_id FROM notes o ${of_project};
INSERT IGNORE INTO request
  (project_no, request_key, digest, reply, first_position, position_count, number, at_ms)
SELECT p.project_no, o.request_key, o.digest, o.reply, o.first_position, o.position_count, o.number, o.at_ms
FROM requests o ${of_project};
INSERT IGNORE INTO event (project_no, position, subject, agent_id, session_id, event)
SELECT p.project_no, o.position, o.subject, o.agent_id, o.session_id, o.event FROM events o ${of_project};
INSERT IGNORE INTO event_time (project_no, block, first_ms, last_ms)
SELECT p.project_no, o.position DIV ${block_events}, MIN(o.at_ms), MAX(o.at_ms)
FROM events o ${of_project} WHERE o.at_ms IS NOT NULL GROUP BY p.project_no, o.position DIV ${block_events}
-- name: copy_names
INSERT IGNORE INTO event_name (project_no, field, name, block)
SELECT DISTINCT p.project_no, ${field}, o.${column}, o.position DIV ${block_events}
FROM events o ${of_project} WHERE ${condition}
-- name: drop_tables_1
DROP TABLE IF EXISTS batches, events, notes, requests, places, scopes, heads, projects

-- name: drop_procedure
DROP PROCEDURE IF EXISTS ${procedure};
