import { REQUEST_WINDOW_MS, REQUESTS_MAX } from '../store.js';
import { NAME_BYTES_MAX } from './names.js';

/**
 * One call commits a batch. The store cuts it into runs: units of one project that do not stand on one another, so
 * that the units of a run are decided and written together, a statement for all of them (see batch.ts). Only SQL that
 * MySQL 8 and MariaDB 10.6 both understand: no RETURNING, no row alias, no nested JSON variables.
 */

const NAME = `VARBINARY(${NAME_BYTES_MAX})`;
const TEXT = 'LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

const rows = (list: string, columns: readonly string[]): string => {
  const paths = columns.map((column) => `${column} PATH '$.${column.slice(0, column.indexOf(' '))}'`);
  return `JSON_TABLE(${list}, '$[*]' COLUMNS (${paths.join(', ')}))`;
};

const PROJECTS = rows('p_projects', ['tenant_id VARBINARY(128)', 'project_id VARBINARY(128)']);
const UNITS = rows('p_units', [
  'unit INT',
  'rules_seq BIGINT',
  'not_before_ms BIGINT',
  'not_after_ms BIGINT',
]);
const TOUCHED = rows('p_touched', ['unit INT', `subject ${NAME}`, 'seq BIGINT']);
const HEADS = rows('p_heads', ['unit INT', `subject ${NAME}`, 'seq BIGINT', `head ${TEXT}`]);
const NUMBERS = rows('p_numbers', ['unit INT', 'number INT', `note_id ${NAME}`]);
const EVENTS = rows('p_events', [
  'number INT',
  `event_type ${NAME}`,
  `subject ${NAME}`,
  `task_id ${NAME}`,
  `feature_id ${NAME}`,
  `edge ${NAME}`,
  `agent_id ${NAME}`,
  `session_id ${NAME}`,
  'at_ms BIGINT',
  `event ${TEXT}`,
]);
const REQUESTS = rows('p_requests', [
  'unit INT',
  'number INT',
  `request_key ${NAME}`,
  `digest ${NAME}`,
  `reply ${TEXT}`,
]);
const SCOPES = rows('p_scopes', [`scope ${NAME}`, 'takes BIGINT', 'room BIGINT']);
const SLOT_COLUMNS = `scope ${NAME} PATH '$.scope', member ${NAME} PATH '$.member', until_ms BIGINT PATH '$.until_ms'`;
const SLOTS = `JSON_TABLE(p_slots, '$[*]' COLUMNS (
      unit INT PATH '$.unit', NESTED PATH '$.slots[*]' COLUMNS (${SLOT_COLUMNS})))`;
const SLOTS_OF_ONE = `JSON_TABLE(v_one, '$.slots[*]' COLUMNS (${SLOT_COLUMNS}))`;
const ROOMS_OF_ONE = `JSON_TABLE(v_one, '$.rooms[*]' COLUMNS (
        number FOR ORDINALITY, scope ${NAME} PATH '$.scope', room BIGINT PATH '$.max'))`;

/** SYSDATE is the time at which it is asked, NOW that at which the call began, before any lock was waited for. */
const CLOCK_MS = 'FLOOR(UNIX_TIMESTAMP(SYSDATE(6)) * 1000)';

/** Past so many places taken since the last count, a scope is counted anew and its expired places are let go. */
const UNCOUNTED_MAX = 10_000;
/** After so many requests those that are too old or too many are forgotten. */
const FORGET_EVERY = 1024;

/**
 * Locks every project of the batch, in order, so that nothing comes between; answers from memory where this batch was
 * here before; else applies run after run. The last statement gives what `batches` holds of it.
 */
export const COMMIT_BATCH = `CREATE PROCEDURE commit_batch(
  p_batch_id BINARY(16), p_run_count INT, p_projects JSON, p_runs JSON, p_units JSON, p_touched JSON, p_heads JSON,
  p_numbers JSON, p_events JSON, p_requests JSON, p_scopes JSON, p_slots JSON
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_run INT DEFAULT 0;
  DECLARE v_at VARCHAR(20) CHARACTER SET utf8mb4;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

  SET SESSION group_concat_max_len = 1073741824;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;

  INSERT INTO projects (tenant_id, project_id)
  SELECT p.tenant_id, p.project_id FROM ${PROJECTS} p
  ON DUPLICATE KEY UPDATE is_written = is_written;

  IF NOT EXISTS (SELECT 1 FROM batches WHERE batch_id = p_batch_id) THEN
    WHILE v_run < p_run_count DO
      SET v_at = CONCAT('$[', v_run, ']');
      CALL apply_run(
        p_batch_id, v_run, JSON_EXTRACT(p_runs, v_at),
        IF(p_run_count = 1, p_units, JSON_EXTRACT(p_units, v_at)),
        IF(p_run_count = 1, p_touched, JSON_EXTRACT(p_touched, v_at)),
        IF(p_run_count = 1, p_heads, JSON_EXTRACT(p_heads, v_at)),
        IF(p_run_count = 1, p_numbers, JSON_EXTRACT(p_numbers, v_at)),
        IF(p_run_count = 1, p_events, JSON_EXTRACT(p_events, v_at)),
        IF(p_run_count = 1, p_requests, JSON_EXTRACT(p_requests, v_at)),
        IF(p_run_count = 1, p_scopes, JSON_EXTRACT(p_scopes, v_at)),
        IF(p_run_count = 1, p_slots, JSON_EXTRACT(p_slots, v_at))
      );
      SET v_run = v_run + 1;
    END WHILE;
  END IF;

  SELECT position, rules_seq, now_ms, refused, kept, heads, known
    FROM batches WHERE batch_id = p_batch_id ORDER BY run;
  COMMIT;
END`;

/**
 * Units and events have numbers within the run. \`v_out\` lists the units that are refused, \`v_kept\` the events that are
 * written, where that is not all of them: an event's place in \`v_kept\` is its place among the new positions.
 */
export const APPLY_RUN = `CREATE PROCEDURE apply_run(
  p_batch_id BINARY(16), p_run INT, p_head JSON, p_units JSON, p_touched JSON, p_heads JSON, p_numbers JSON,
  p_events JSON, p_requests JSON, p_scopes JSON, p_slots JSON
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_tenant VARBINARY(128) DEFAULT JSON_UNQUOTE(JSON_EXTRACT(p_head, '$.tenant_id'));
  DECLARE v_project VARBINARY(128) DEFAULT JSON_UNQUOTE(JSON_EXTRACT(p_head, '$.project_id'));
  DECLARE v_count INT DEFAULT JSON_EXTRACT(p_head, '$.events');
  DECLARE v_has_notes INT DEFAULT JSON_EXTRACT(p_head, '$.has_notes');
  DECLARE v_has_frees INT DEFAULT JSON_EXTRACT(p_head, '$.has_frees');
  DECLARE v_rules_changes INT DEFAULT JSON_EXTRACT(p_head, '$.rules_changes');
  DECLARE v_position, v_rules, v_made, v_oldest, v_now BIGINT;
  DECLARE v_wrote INT DEFAULT 0;
  DECLARE v_known, v_moved, v_out, v_there, v_kept, v_refused, v_heads, v_requests ${TEXT};

  IF JSON_LENGTH(p_scopes) > 0 THEN
    INSERT INTO scopes (tenant_id, scope, live_at_most)
    SELECT v_tenant, s.scope, s.takes FROM ${SCOPES} s
    ON DUPLICATE KEY UPDATE live_at_most = live_at_most + VALUES(live_at_most);
  END IF;

  -- Every lock is held: this is the time of the run.
  SELECT position, rules_seq, requests_made, GREATEST(last_ms, ${CLOCK_MS})
    INTO v_position, v_rules, v_made, v_now
    FROM projects WHERE tenant_id = v_tenant AND project_id = v_project;

  SELECT GROUP_CONCAT(DISTINCT r.unit) INTO v_known
    FROM ${REQUESTS} r
    STRAIGHT_JOIN requests k
      ON k.tenant_id = v_tenant AND k.project_id = v_project AND k.request_key = r.request_key;
  SELECT GROUP_CONCAT(DISTINCT t.unit) INTO v_moved
    FROM ${TOUCHED} t
    LEFT JOIN heads h ON h.tenant_id = v_tenant AND h.project_id = v_project AND h.subject = t.subject
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
  ELSE
    SELECT JSON_ARRAYAGG(h.head) INTO v_heads
      FROM ${TOUCHED} t
      STRAIGHT_JOIN heads h ON h.tenant_id = v_tenant AND h.project_id = v_project AND h.subject = t.subject
      WHERE FIND_IN_SET(t.unit, v_out);
    SELECT JSON_ARRAYAGG(JSON_OBJECT(
        'request_key', CONVERT(k.request_key USING utf8mb4), 'digest', CONVERT(k.digest USING utf8mb4),
        'reply', k.reply, 'first_position', k.first_position, 'position_count', k.position_count))
      INTO v_requests
      FROM ${REQUESTS} r
      STRAIGHT_JOIN requests k
        ON k.tenant_id = v_tenant AND k.project_id = v_project AND k.request_key = r.request_key;
  END IF;

  IF JSON_LENGTH(p_scopes) > 0 THEN
    CALL take_places(v_tenant, v_project, v_now, p_scopes, p_slots, v_has_frees, v_out, v_refused, v_wrote);
  END IF;

  IF v_has_notes THEN
    SELECT GROUP_CONCAT(n.number) INTO v_there
      FROM ${NUMBERS} n
      STRAIGHT_JOIN notes t ON t.tenant_id = v_tenant AND t.project_id = v_project AND t.event_id = n.note_id;
  END IF;
  IF v_out <> '' OR v_there IS NOT NULL THEN
    SELECT COALESCE(GROUP_CONCAT(n.number ORDER BY n.number), ''), COUNT(*) INTO v_kept, v_count
      FROM ${NUMBERS} n
      WHERE NOT FIND_IN_SET(n.unit, v_out) AND NOT FIND_IN_SET(n.number, COALESCE(v_there, ''));
  END IF;

  INSERT INTO heads (tenant_id, project_id, subject, seq, head)
  SELECT v_tenant, v_project, h.subject, h.seq, h.head FROM ${HEADS} h
  WHERE NOT FIND_IN_SET(h.unit, v_out)
  ON DUPLICATE KEY UPDATE seq = VALUES(seq), head = VALUES(head);

  IF v_count > 0 THEN
    INSERT INTO events (tenant_id, project_id, position,
      event_type, subject, task_id, feature_id, edge, agent_id, session_id, at_ms, event)
    SELECT v_tenant, v_project, v_position + IF(v_kept IS NULL, e.number, FIND_IN_SET(e.number, v_kept)),
      e.event_type, e.subject, e.task_id, e.feature_id, e.edge, e.agent_id, e.session_id, e.at_ms, e.event
    FROM ${EVENTS} e
    WHERE v_kept IS NULL OR FIND_IN_SET(e.number, v_kept);
  END IF;
  IF v_has_notes THEN
    INSERT INTO notes (tenant_id, project_id, event_id)
    SELECT v_tenant, v_project, n.note_id FROM ${NUMBERS} n
    WHERE n.note_id IS NOT NULL AND (v_kept IS NULL OR FIND_IN_SET(n.number, v_kept));
  END IF;

  IF JSON_EXTRACT(p_head, '$.has_kept_requests') THEN
    INSERT INTO requests (tenant_id, project_id, request_key, digest, reply, first_position, position_count,
      number, at_ms)
    SELECT v_tenant, v_project, r.request_key, r.digest, r.reply,
      v_position + COALESCE(p.first, 0), COALESCE(p.count, 0), v_made + r.number, v_now
    FROM ${REQUESTS} r
    LEFT JOIN (
      SELECT n.unit, MIN(IF(v_kept IS NULL, n.number, FIND_IN_SET(n.number, v_kept))) AS first, COUNT(*) AS count
      FROM ${NUMBERS} n WHERE v_kept IS NULL OR FIND_IN_SET(n.number, v_kept) GROUP BY n.unit
    ) p ON p.unit = r.unit
    WHERE r.number IS NOT NULL AND NOT FIND_IN_SET(r.unit, v_out);
    SET v_wrote = v_wrote + ROW_COUNT();
    SET v_made = v_made + JSON_LENGTH(p_requests);
    -- The oldest go from time to time, in the order in which they came.
    IF v_made DIV ${FORGET_EVERY} > (v_made - JSON_LENGTH(p_requests)) DIV ${FORGET_EVERY} THEN
      SELECT MIN(number) INTO v_oldest FROM requests WHERE tenant_id = v_tenant AND project_id = v_project;
      DELETE FROM requests
      WHERE tenant_id = v_tenant AND project_id = v_project AND number < v_oldest + 4 * ${FORGET_EVERY}
        AND (at_ms < v_now - ${REQUEST_WINDOW_MS} OR number <= v_made - ${REQUESTS_MAX});
    END IF;
  END IF;

  IF v_out <> '' THEN SET v_rules_changes = 0; END IF;
  UPDATE projects
  SET position = v_position + v_count, rules_seq = v_rules + v_rules_changes, last_ms = v_now,
    requests_made = v_made, is_written = is_written OR v_wrote + v_count + v_rules_changes > 0
  WHERE tenant_id = v_tenant AND project_id = v_project;

  INSERT INTO batches (batch_id, run, position, rules_seq, now_ms, refused, kept, heads, known)
  VALUES (p_batch_id, p_run, v_position, v_rules + v_rules_changes, v_now, NULLIF(v_refused, '{}'), v_kept,
    v_heads, v_requests);
END`;

const PLACE_OF_SLOT =
  'p.tenant_id = p_tenant AND p.scope = j.scope AND p.project_id = p_project AND p.member = j.member';
const MAY_BE_SHORT = `EXISTS (
    SELECT 1 FROM ${SCOPES} s STRAIGHT_JOIN scopes c ON c.tenant_id = p_tenant AND c.scope = s.scope
    WHERE c.live_at_most > s.room`;
const WAS = 'COALESCE(p.until_ms > p_now, 0)';
const IS = '(j.until_ms > p_now)';

/**
 * A scope knows how many of its places may be live at most: all that were taken since it was last counted, whether
 * or not they have run out. Where that is within the room nobody needs to count. Where it is not, the scope is counted,
 * and only where that leaves less room than the run takes do units have to take their places one after the other.
 * A place that is freed is one that has run out.
 */
export const TAKE_PLACES = `CREATE PROCEDURE take_places(
  p_tenant VARBINARY(128), p_project VARBINARY(128), p_now BIGINT, p_scopes JSON, p_slots JSON, p_has_frees INT,
  INOUT p_out ${TEXT}, INOUT p_refused ${TEXT}, INOUT p_wrote INT
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_next, v_unit INT DEFAULT 0;
  DECLARE v_one ${TEXT};
  DECLARE v_full ${NAME};

  IF ${MAY_BE_SHORT} OR c.live_at_most > 2 * c.counted + ${UNCOUNTED_MAX}) THEN
    DELETE p FROM ${SCOPES} s
    STRAIGHT_JOIN places p ON p.tenant_id = p_tenant AND p.scope = s.scope
    WHERE p.until_ms <= p_now;
    UPDATE scopes c JOIN ${SCOPES} s ON s.scope = c.scope
    SET c.counted = (SELECT COUNT(*) FROM places p WHERE p.tenant_id = p_tenant AND p.scope = c.scope)
    WHERE c.tenant_id = p_tenant;
    UPDATE scopes c JOIN ${SCOPES} s ON s.scope = c.scope
    SET c.live_at_most = c.counted + s.takes
    WHERE c.tenant_id = p_tenant;
  END IF;

  IF ${MAY_BE_SHORT}) THEN
    UPDATE scopes c JOIN ${SCOPES} s ON s.scope = c.scope
    SET c.live_at_most = c.counted
    WHERE c.tenant_id = p_tenant;
    WHILE v_next < JSON_LENGTH(p_slots) DO
      SET v_one = JSON_EXTRACT(p_slots, CONCAT('$[', v_next, ']'));
      SET v_unit = JSON_EXTRACT(v_one, '$.unit');
      SET v_next = v_next + 1;
      IF NOT FIND_IN_SET(v_unit, p_out) THEN
        SET v_full = (
          SELECT r.scope FROM ${ROOMS_OF_ONE} r
          STRAIGHT_JOIN scopes c ON c.tenant_id = p_tenant AND c.scope = r.scope
          STRAIGHT_JOIN ${SLOTS_OF_ONE} j ON j.scope = r.scope
          LEFT JOIN places p ON ${PLACE_OF_SLOT}
          GROUP BY r.number, r.scope, r.room, c.live_at_most
          HAVING SUM(${IS} > ${WAS}) > 0 AND c.live_at_most + SUM(${IS}) - SUM(${WAS}) > r.room
          ORDER BY r.number LIMIT 1);
        IF v_full IS NULL THEN
          UPDATE scopes c SET c.live_at_most = c.live_at_most + (
            SELECT COALESCE(SUM(${IS}) - SUM(${WAS}), 0) FROM ${SLOTS_OF_ONE} j
            LEFT JOIN places p ON ${PLACE_OF_SLOT} WHERE j.scope = c.scope)
          WHERE c.tenant_id = p_tenant AND c.scope IN (SELECT j.scope FROM ${SLOTS_OF_ONE} j);
          INSERT INTO places (tenant_id, scope, project_id, member, until_ms)
          SELECT p_tenant, j.scope, p_project, j.member, j.until_ms FROM ${SLOTS_OF_ONE} j
          ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms);
          SET p_wrote = p_wrote + ROW_COUNT();
        ELSE
          SET p_out = CONCAT_WS(',', NULLIF(p_out, ''), v_unit);
          SET p_refused = JSON_SET(p_refused, CONCAT('$."', v_unit, '"'), CONCAT('full ', CONVERT(v_full USING utf8mb4)));
        END IF;
      END IF;
    END WHILE;
  ELSE
    -- In the order of the units: of two words about one member the last stands.
    INSERT INTO places (tenant_id, scope, project_id, member, until_ms)
    SELECT p_tenant, j.scope, p_project, j.member, j.until_ms FROM ${SLOTS} j
    WHERE NOT FIND_IN_SET(j.unit, p_out)
    ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms);
    SET p_wrote = p_wrote + ROW_COUNT();
  END IF;

  IF p_has_frees THEN
    DELETE p FROM ${SLOTS} j STRAIGHT_JOIN places p ON ${PLACE_OF_SLOT} WHERE p.until_ms <= p_now;
  END IF;
END`;
