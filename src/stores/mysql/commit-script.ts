import { REQUEST_WINDOW_MS, REQUESTS_MAX } from '../store.js';
import { NAME_BYTES_MAX } from './name-encoding.js';

/**
 * The SQL of the commit procedure; one call commits a batch. The store splits the batch into runs of independent
 * transactions of one project, so that the transactions of a run are decided and written together, with one statement
 * for all of them (see batch.ts). It uses only SQL that MySQL 8 and MariaDB 10.6 both support: no RETURNING, no row
 * alias, no JSON in JSON variables.
 *
 * MariaDB parses JSON character by character, once per column, and copies each variable of a statement into the
 * statement's text. So rows are short lists instead of objects, and the texts of heads and events are passed separately
 * as bytes, addressed by offset.
 */

const NAME = `VARBINARY(${NAME_BYTES_MAX})`;
const KEY = 'VARBINARY(128)';
const TEXT = 'LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

const rows = (list: string, columns: readonly string[]): string =>
  `JSON_TABLE(${list}, '$[*]' COLUMNS (${columnsAt(columns)}))`;
const columnsAt = (columns: readonly string[]): string =>
  columns.map((column, at) => `${column} PATH '$[${at}]'`).join(', ');

const PROJECTS = rows('p_projects', [`tenant_id ${KEY}`, `project_id ${KEY}`]);
const UNITS = rows('v_units', [
  'unit INT',
  'rules_seq BIGINT',
  'not_before_ms BIGINT',
  'not_after_ms BIGINT',
]);
const TOUCHED = rows('v_touched', ['unit INT', `subject ${NAME}`, 'seq BIGINT']);
const HEADS = rows('v_heads', ['unit INT', `subject ${NAME}`, 'seq BIGINT', 'text_at INT', 'text_bytes INT']);
const NUMBERS = rows('v_numbers', ['unit INT', 'number INT', `note_id ${NAME}`]);
const EVENT_FIELDS = ['event_type', 'subject', 'task_id', 'feature_id', 'edge', 'agent_id', 'session_id'];
const EVENTS = rows('v_events', [
  'number INT',
  'text_at INT',
  'text_bytes INT',
  'at_ms BIGINT',
  ...EVENT_FIELDS.map((field) => `${field} ${NAME}`),
]);
const REQUESTS = rows('v_requests', [
  'unit INT',
  'number INT',
  `request_key ${NAME}`,
  `digest ${NAME}`,
  `reply ${TEXT}`,
  'first INT',
  'count INT',
]);

/** A lookup of requests reads only these columns. */
const REQUEST_KEYS = rows('v_requests', ['unit INT', 'number INT', `request_key ${NAME}`]);
const SCOPES = rows('v_scopes', [`scope ${NAME}`, 'takes BIGINT', 'room BIGINT']);
const SLOT = columnsAt([`scope ${NAME}`, `member ${NAME}`, 'until_ms BIGINT']);
const SLOTS = `JSON_TABLE(v_slots, '$[*]' COLUMNS (
        unit INT PATH '$[0]', NESTED PATH '$[1][*]' COLUMNS (${SLOT})))`;

/** SYSDATE is the current time; NOW is when the call began, before it waited for locks. */
export const CLOCK_MS = 'FLOOR(UNIX_TIMESTAMP(SYSDATE(6)) * 1000)';

/** Old and surplus requests are deleted after this many new ones. */
const FORGET_EVERY = 1024;

/** After this many permits taken since the last count, a scope is recounted and its expired permits are deleted. */
const UNCOUNTED_MAX = 10_000;

const IN_PROJECT = 'tenant_id = v_tenant AND project_id = v_project';
const inProject = (table: string): string =>
  `${table}.tenant_id = v_tenant AND ${table}.project_id = v_project`;
const KNOWN_REQUESTS = `${REQUEST_KEYS} r
      STRAIGHT_JOIN requests k ON ${inProject('k')} AND k.request_key = r.request_key`;

/** A scope that may have too few free permits for the run, as far as is known without counting. */
const SHORT = 'c.live_at_most > s.room';
const scopesWhere = (condition: string): string =>
  `EXISTS (SELECT 1 FROM ${SCOPES} s STRAIGHT_JOIN scopes c ON c.tenant_id = v_tenant AND c.scope = s.scope
        WHERE ${condition})`;

/**
 * The heads and requests that caused refusals. Plain rows: to aggregate texts into one value, MariaDB creates a table
 * on disk. For a repeated batch it returns more than needed, in its current state.
 */
const SHOWN = `
      SELECT v_run AS run, h.head
        FROM ${TOUCHED} t STRAIGHT_JOIN heads h ON ${inProject('h')} AND h.subject = t.subject
        WHERE v_is_repeated OR FIND_IN_SET(t.unit, v_out);
      SELECT v_run AS run, k.request_key, k.digest, k.reply, k.first_position, k.position_count
        FROM ${KNOWN_REQUESTS};`;

const rememberRequests = (first: string, count: string, spans: string): string => `
        INSERT INTO requests (tenant_id, project_id, request_key, digest, reply, first_position, position_count,
          number, at_ms)
        SELECT v_tenant, v_project, r.request_key, r.digest, r.reply, v_position + ${first}, ${count},
          v_made + r.number, v_now
        FROM ${REQUESTS} r ${spans}
        WHERE r.number IS NOT NULL AND NOT FIND_IN_SET(r.unit, v_out);`;

/** The written events of a transaction are consecutive. */
const SPANS_KEPT = `
        LEFT JOIN (
          SELECT n.unit, MIN(FIND_IN_SET(n.number, v_kept)) AS first, COUNT(*) AS count
          FROM ${NUMBERS} n WHERE FIND_IN_SET(n.number, v_kept) GROUP BY n.unit
        ) s ON s.unit = r.unit`;

/**
 * Locks every project of the batch in order, so that no other write intervenes; returns the stored outcome of a
 * repeated batch, or else applies run after run. The last result set holds the rows of `batches`.
 *
 * Transactions and events are numbered within their run. `v_out` lists the refused transactions, `v_kept` the events
 * that are written, unless all are: an event's index in `v_kept` is its index among the new positions.
 */
export const COMMIT_BATCH = `CREATE PROCEDURE commit_batch(
  p_batch_id BINARY(16), p_run_count INT, p_projects JSON, p_runs JSON, p_units JSON, p_touched JSON, p_heads JSON,
  p_numbers JSON, p_events JSON, p_requests JSON, p_scopes JSON, p_slots JSON, p_rooms JSON,
  p_head_texts LONGBLOB, p_event_texts LONGBLOB
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_run INT DEFAULT 0;
  DECLARE v_at VARCHAR(20) CHARACTER SET utf8mb4;
  DECLARE v_tenant, v_project ${KEY};
  DECLARE v_units, v_touched, v_heads, v_numbers, v_events, v_requests, v_scopes, v_slots ${TEXT};
  DECLARE v_count, v_has_notes, v_has_frees, v_rules_changes, v_kept_requests, v_wrote INT;
  DECLARE v_position, v_rules, v_made, v_oldest, v_now BIGINT;
  DECLARE v_known, v_moved, v_out, v_there, v_kept, v_refused ${TEXT};
  DECLARE v_is_repeated TINYINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

  SET SESSION group_concat_max_len = 1073741824;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;

  INSERT INTO projects (tenant_id, project_id)
  SELECT p.tenant_id, p.project_id FROM ${PROJECTS} p
  ON DUPLICATE KEY UPDATE is_written = is_written;

  SET v_is_repeated = EXISTS (SELECT 1 FROM batches WHERE batch_id = p_batch_id);

  each_run: WHILE v_run < p_run_count DO
    SET v_at = CONCAT('$[', v_run, ']');
    SET v_tenant = JSON_UNQUOTE(JSON_EXTRACT(p_runs, CONCAT(v_at, '.tenant_id')));
    SET v_project = JSON_UNQUOTE(JSON_EXTRACT(p_runs, CONCAT(v_at, '.project_id')));
    SET v_count = JSON_EXTRACT(p_runs, CONCAT(v_at, '.events'));
    SET v_has_notes = JSON_EXTRACT(p_runs, CONCAT(v_at, '.has_notes'));
    SET v_has_frees = JSON_EXTRACT(p_runs, CONCAT(v_at, '.has_frees'));
    SET v_kept_requests = JSON_EXTRACT(p_runs, CONCAT(v_at, '.kept_requests'));
    SET v_rules_changes = JSON_EXTRACT(p_runs, CONCAT(v_at, '.rules_changes'));
    SET v_units = IF(p_run_count = 1, p_units, JSON_EXTRACT(p_units, v_at));
    SET v_touched = IF(p_run_count = 1, p_touched, JSON_EXTRACT(p_touched, v_at));
    SET v_heads = IF(p_run_count = 1, p_heads, JSON_EXTRACT(p_heads, v_at));
    SET v_numbers = IF(p_run_count = 1, p_numbers, JSON_EXTRACT(p_numbers, v_at));
    SET v_events = IF(p_run_count = 1, p_events, JSON_EXTRACT(p_events, v_at));
    SET v_requests = IF(p_run_count = 1, p_requests, JSON_EXTRACT(p_requests, v_at));
    SET v_scopes = IF(p_run_count = 1, p_scopes, JSON_EXTRACT(p_scopes, v_at));
    SET v_slots = IF(p_run_count = 1, p_slots, JSON_EXTRACT(p_slots, v_at));
    SET v_wrote = 0;
    SET v_refused = '{}';
    SET v_known = NULL, v_there = NULL, v_kept = NULL;

    IF v_is_repeated THEN${SHOWN}
      SET v_run = v_run + 1;
      ITERATE each_run;
    END IF;

    IF v_scopes <> '[]' THEN
      INSERT INTO scopes (tenant_id, scope, live_at_most)
      SELECT v_tenant, s.scope, s.takes FROM ${SCOPES} s
      ON DUPLICATE KEY UPDATE live_at_most = live_at_most + VALUES(live_at_most);
    END IF;

    -- Every lock is held: this is the time of the run.
    SELECT position, rules_seq, requests_made, GREATEST(last_ms, ${CLOCK_MS})
      INTO v_position, v_rules, v_made, v_now
      FROM projects WHERE ${IN_PROJECT};

    -- What was asked for before, and what has moved since it was decided on.
    IF v_requests <> '[]' THEN
      SELECT GROUP_CONCAT(DISTINCT r.unit) INTO v_known FROM ${KNOWN_REQUESTS};
    END IF;
    SELECT GROUP_CONCAT(DISTINCT t.unit) INTO v_moved
      FROM ${TOUCHED} t LEFT JOIN heads h ON ${inProject('h')} AND h.subject = t.subject
      WHERE COALESCE(h.seq, 0) <> t.seq;

    SELECT COALESCE(GROUP_CONCAT(j.unit), ''), JSON_OBJECTAGG(j.unit, j.kind) INTO v_out, v_refused
      FROM (
        SELECT u.unit, CASE
          WHEN FIND_IN_SET(u.unit, v_known) THEN 'replay'
          WHEN FIND_IN_SET(u.unit, v_moved) OR u.rules_seq <> v_rules THEN 'conflict'
          WHEN v_now < u.not_before_ms THEN 'early'
          WHEN v_now >= u.not_after_ms THEN 'late'
        END AS kind FROM ${UNITS} u
      ) j WHERE j.kind IS NOT NULL;
    IF v_out = '' THEN
      SET v_refused = '{}';
    ELSE${SHOWN}
    END IF;

    -- A scope is counted only where it may be short; units take their places in turn only where it is.
    IF v_scopes <> '[]' THEN
      IF ${scopesWhere(`${SHORT} OR c.live_at_most > 2 * c.counted + ${UNCOUNTED_MAX}`)} THEN
        CALL count_places(v_tenant, v_now, v_scopes);
      END IF;
      IF ${scopesWhere(SHORT)} THEN
        CALL take_places_in_turn(v_tenant, v_project, v_now, v_scopes, v_slots,
          IF(p_run_count = 1, p_rooms, JSON_EXTRACT(p_rooms, v_at)), v_out, v_refused, v_wrote);
      ELSE
        -- In the order of the units: of two words about one member the last stands.
        INSERT INTO places (tenant_id, scope, project_id, member, until_ms)
        SELECT v_tenant, j.scope, v_project, j.member, j.until_ms FROM ${SLOTS} j
        WHERE NOT FIND_IN_SET(j.unit, v_out)
        ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms);
        SET v_wrote = v_wrote + ROW_COUNT();
      END IF;
      IF v_has_frees THEN
        DELETE p FROM ${SLOTS} j
        STRAIGHT_JOIN places p ON ${inProject('p')} AND p.scope = j.scope AND p.member = j.member
        WHERE p.until_ms <= v_now;
      END IF;
    END IF;

    -- Who is left is committed.
    IF v_has_notes THEN
      SELECT GROUP_CONCAT(n.number) INTO v_there
        FROM ${NUMBERS} n STRAIGHT_JOIN notes t ON ${inProject('t')} AND t.event_id = n.note_id;
    END IF;
    IF v_out <> '' OR v_there IS NOT NULL THEN
      SELECT COALESCE(GROUP_CONCAT(n.number ORDER BY n.number), ''), COUNT(*) INTO v_kept, v_count
        FROM ${NUMBERS} n
        WHERE NOT FIND_IN_SET(n.unit, v_out) AND NOT FIND_IN_SET(n.number, COALESCE(v_there, ''));
    END IF;

    IF v_heads <> '[]' THEN
      INSERT INTO heads (tenant_id, project_id, subject, seq, head)
      SELECT v_tenant, v_project, h.subject, h.seq, SUBSTRING(p_head_texts, h.text_at, h.text_bytes)
      FROM ${HEADS} h WHERE NOT FIND_IN_SET(h.unit, v_out)
      ON DUPLICATE KEY UPDATE seq = VALUES(seq), head = VALUES(head);
    END IF;
    IF v_count > 0 THEN
      INSERT INTO events (tenant_id, project_id, position, at_ms, ${EVENT_FIELDS.join(', ')}, event)
      SELECT v_tenant, v_project, v_position + IF(v_kept IS NULL, e.number, FIND_IN_SET(e.number, v_kept)),
        e.at_ms, ${EVENT_FIELDS.map((field) => `e.${field}`).join(', ')},
        SUBSTRING(p_event_texts, e.text_at, e.text_bytes)
      FROM ${EVENTS} e WHERE v_kept IS NULL OR FIND_IN_SET(e.number, v_kept);
      IF v_has_notes THEN
        INSERT INTO notes (tenant_id, project_id, event_id)
        SELECT v_tenant, v_project, n.note_id FROM ${NUMBERS} n
        WHERE n.note_id IS NOT NULL AND (v_kept IS NULL OR FIND_IN_SET(n.number, v_kept));
      END IF;
    END IF;

    IF v_kept_requests > 0 THEN
      IF v_kept IS NULL THEN ${rememberRequests('r.first', 'r.count', '')}
      ELSE ${rememberRequests('COALESCE(s.first, 0)', 'COALESCE(s.count, 0)', SPANS_KEPT)}
      END IF;
      SET v_wrote = v_wrote + ROW_COUNT();
      SET v_made = v_made + v_kept_requests;
      -- The oldest go from time to time, in the order in which they came.
      IF v_made DIV ${FORGET_EVERY} > (v_made - v_kept_requests) DIV ${FORGET_EVERY} THEN
        SELECT MIN(number) INTO v_oldest FROM requests WHERE ${IN_PROJECT};
        DELETE FROM requests
        WHERE ${IN_PROJECT} AND number < v_oldest + 4 * ${FORGET_EVERY}
          AND (at_ms < v_now - ${REQUEST_WINDOW_MS} OR number <= v_made - ${REQUESTS_MAX});
      END IF;
    END IF;

    IF v_out <> '' THEN SET v_rules_changes = 0; END IF;
    SET v_rules = v_rules + v_rules_changes;
    UPDATE projects
    SET position = v_position + v_count, rules_seq = v_rules, last_ms = v_now, requests_made = v_made,
      is_written = is_written OR v_wrote + v_count + v_rules_changes > 0
    WHERE ${IN_PROJECT};
    INSERT INTO batches (batch_id, run, position, rules_seq, now_ms, refused, kept)
    VALUES (p_batch_id, v_run, v_position, v_rules, v_now, NULLIF(v_refused, '{}'), v_kept);
    SET v_run = v_run + 1;
  END WHILE each_run;

  SELECT position, rules_seq, now_ms, refused, kept
    FROM batches WHERE batch_id = p_batch_id ORDER BY run;
  COMMIT;
END`;
