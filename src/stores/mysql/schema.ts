import type { MigrationStep } from '../migrator.js';
import { COMMIT_BATCH } from './commit-script.js';
import { NAME_BYTES_MAX } from './name-encoding.js';
import { COUNT_PERMITS, TAKE_PERMITS_IN_TURN } from './permit-script.js';

const SCOPE_NAME = 'VARBINARY(128) NOT NULL';
const NAME = `VARBINARY(${NAME_BYTES_MAX})`;
/** Shorter than other names: a permit's key contains both scope and member. */
const PERMIT_SCOPE = 'VARBINARY(1000)';
const PROJECT_KEY = `tenant_id ${SCOPE_NAME}, project_id ${SCOPE_NAME}`;
const TEXT = 'LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
const INNODB = 'ENGINE = InnoDB ROW_FORMAT = DYNAMIC';

/** Names are bytes (see name-encoding.ts): no collation folds or pads them, and they compare fast. */
const TABLES = [
  `CREATE TABLE IF NOT EXISTS meta (
  one TINYINT NOT NULL PRIMARY KEY,
  incarnation BIGINT NOT NULL,
  secret CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ${INNODB}`,
  `CREATE TABLE IF NOT EXISTS projects (
  ${PROJECT_KEY},
  position BIGINT NOT NULL DEFAULT 0,
  rules_seq BIGINT NOT NULL DEFAULT 0,
  last_ms BIGINT NOT NULL DEFAULT 0,
  requests_made BIGINT NOT NULL DEFAULT 0,
  is_written TINYINT NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, project_id)
) ${INNODB}`,
  `CREATE TABLE IF NOT EXISTS heads (
  ${PROJECT_KEY},
  subject ${NAME} NOT NULL,
  seq BIGINT NOT NULL,
  head ${TEXT} NOT NULL,
  PRIMARY KEY (tenant_id, project_id, subject)
) ${INNODB}`,
  `CREATE TABLE IF NOT EXISTS events (
  ${PROJECT_KEY},
  position BIGINT NOT NULL,
  event_type ${NAME} NOT NULL,
  subject ${NAME},
  task_id ${NAME},
  feature_id ${NAME},
  edge ${NAME},
  agent_id ${NAME},
  session_id ${NAME},
  at_ms BIGINT,
  event ${TEXT} NOT NULL,
  PRIMARY KEY (tenant_id, project_id, position),
  KEY by_event_type (tenant_id, project_id, event_type, position),
  KEY by_subject (tenant_id, project_id, subject, position),
  KEY by_task_id (tenant_id, project_id, task_id, position),
  KEY by_feature_id (tenant_id, project_id, feature_id, position),
  KEY by_edge (tenant_id, project_id, edge, position),
  KEY by_agent_id (tenant_id, project_id, agent_id, position),
  KEY by_session_id (tenant_id, project_id, session_id, position),
  KEY by_time (tenant_id, project_id, at_ms, position)
) ${INNODB}`,
  `CREATE TABLE IF NOT EXISTS notes (
  ${PROJECT_KEY},
  event_id ${NAME} NOT NULL,
  PRIMARY KEY (tenant_id, project_id, event_id)
) ${INNODB}`,
  `CREATE TABLE IF NOT EXISTS requests (
  ${PROJECT_KEY},
  request_key ${NAME} NOT NULL,
  digest ${NAME} NOT NULL,
  reply ${TEXT},
  first_position BIGINT NOT NULL,
  position_count INT NOT NULL,
  number BIGINT NOT NULL,
  at_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, project_id, request_key),
  KEY by_number (tenant_id, project_id, number)
) ${INNODB}`,
  `CREATE TABLE IF NOT EXISTS scopes (
  tenant_id ${SCOPE_NAME},
  scope ${PERMIT_SCOPE} NOT NULL,
  live_at_most BIGINT NOT NULL,
  counted BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, scope)
) ${INNODB}`,
  `CREATE TABLE IF NOT EXISTS places (
  tenant_id ${SCOPE_NAME},
  scope ${PERMIT_SCOPE} NOT NULL,
  project_id ${SCOPE_NAME},
  member ${NAME} NOT NULL,
  until_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, scope, project_id, member)
) ${INNODB}`,
  `CREATE TABLE IF NOT EXISTS batches (
  batch_id BINARY(16) NOT NULL,
  run INT NOT NULL,
  position BIGINT NOT NULL,
  rules_seq BIGINT NOT NULL,
  now_ms BIGINT NOT NULL,
  refused ${TEXT},
  kept ${TEXT},
  PRIMARY KEY (batch_id, run),
  KEY by_age (now_ms)
) ${INNODB}`,
  `CREATE TABLE IF NOT EXISTS blobs (
  tenant_id ${SCOPE_NAME},
  sha256 BINARY(32) NOT NULL,
  part INT NOT NULL,
  bytes LONGBLOB NOT NULL,
  PRIMARY KEY (tenant_id, sha256, part)
) ${INNODB}`,
];

const procedure = (name: string, text: string): string[] => [`DROP PROCEDURE IF EXISTS ${name}`, text];

/** DDL commits implicitly, so every statement is repeatable: an interrupted step is simply run again. */
export const MIGRATIONS: readonly MigrationStep[] = [
  {
    version: 1,
    name: 'heads, events, requests, places, and the procedures that commit',
    statements: [
      ...TABLES,
      ...procedure('count_places', COUNT_PERMITS),
      ...procedure('take_places_in_turn', TAKE_PERMITS_IN_TURN),
      ...procedure('commit_batch', COMMIT_BATCH),
    ],
  },
];

export const SCHEMA_VERSION = MIGRATIONS.length;
