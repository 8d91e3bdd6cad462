-- name: database
CREATE DATABASE IF NOT EXISTS `${namespace}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
USE `${namespace}`;
CREATE TABLE IF NOT EXISTS migrations (version INT NOT NULL PRIMARY KEY, name VARCHAR(200) NOT NULL) ENGINE = InnoDB;

-- name: tables
-- Names are bytes of at most NAME_BYTES_MAX (see name-encoding.ts): no collation folds or pads them, and they compare
-- fast.
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
  subject VARBINARY(1500),
  task_id VARBINARY(1500),
  feature_id VARBINARY(1500),
  edge VARBINARY(1500),
  agent_id VARBINARY(1500),
  session_id VARBINARY(1500),
  at_ms BIGINT,
  event LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (tenant_id, project_id, position),
  KEY by_event_type (tenant_id, project_id, event_type, position),
  KEY by_subject (tenant_id, project_id, subject, position),
  KEY by_task_id (tenant_id, project_id, task_id, position),
  KEY by_feature_id (tenant_id, project_id, feature_id, position),
  KEY by_edge (tenant_id, project_id, edge, position),
  KEY by_agent_id (tenant_id, project_id, agent_id, position),
  KEY by_session_id (tenant_id, project_id, session_id, position),
  KEY by_time (tenant_id, project_id, at_ms, position)
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
  PRIMARY KEY (tenant_id, project_id, request_key),
  KEY by_number (tenant_id, project_id, number)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
-- The name of a scope is shorter than other names: a permit's key contains both scope and member.
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
CREATE TABLE IF NOT EXISTS batches (
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
CREATE TABLE IF NOT EXISTS blobs (
  tenant_id VARBINARY(128) NOT NULL,
  sha256 BINARY(32) NOT NULL,
  part INT NOT NULL,
  bytes LONGBLOB NOT NULL,
  PRIMARY KEY (tenant_id, sha256, part)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- name: drop_procedure
DROP PROCEDURE IF EXISTS ${procedure};
