-- The procedures of the commit; one call commits a batch. The store splits the batch into runs of independent
-- transactions of one project, so that the transactions of a run are decided and written together, with one statement
-- for all of them (see batch.ts). They use only SQL that MySQL 8 and MariaDB 10.6 both support: no RETURNING, no row
-- alias, no JSON in JSON variables.
--
-- MariaDB parses JSON character by character, once per column, and copies each variable of a statement into the
-- statement's text. So rows are short lists instead of objects, and the texts of heads and events are passed separately
-- as bytes, addressed by offset.

-- name: given_projects
JSON_TABLE(p_projects, '$[*]' COLUMNS (tenant_id VARBINARY(128) PATH '$[0]', project_id VARBINARY(128) PATH '$[1]'))
-- name: given_units
JSON_TABLE(v_units, '$[*]' COLUMNS (
  unit INT PATH '$[0]', rules_seq BIGINT PATH '$[1]', not_before_ms BIGINT PATH '$[2]',
  not_after_ms BIGINT PATH '$[3]'))
-- name: given_subjects
JSON_TABLE(v_touched, '$[*]' COLUMNS (
  unit INT PATH '$[0]', subject VARBINARY(1500) PATH '$[1]', seq BIGINT PATH '$[2]'))
-- name: given_heads
JSON_TABLE(v_heads, '$[*]' COLUMNS (
  unit INT PATH '$[0]', subject VARBINARY(1500) PATH '$[1]', seq BIGINT PATH '$[2]', text_at INT PATH '$[3]',
  text_bytes INT PATH '$[4]'))
-- name: given_numbers
JSON_TABLE(v_numbers, '$[*]' COLUMNS (
  unit INT PATH '$[0]', number INT PATH '$[1]', note_id VARBINARY(1500) PATH '$[2]'))
-- name: given_events
JSON_TABLE(v_events, '$[*]' COLUMNS (
  number INT PATH '$[0]', text_at INT PATH '$[1]', text_bytes INT PATH '$[2]', at_ms BIGINT PATH '$[3]',
  event_type VARBINARY(1500) PATH '$[4]', subject VARBINARY(1500) PATH '$[5]',
  task_id VARBINARY(1500) PATH '$[6]', feature_id VARBINARY(1500) PATH '$[7]',
  edge VARBINARY(1500) PATH '$[8]', agent_id VARBINARY(1500) PATH '$[9]',
  session_id VARBINARY(1500) PATH '$[10]'))
-- name: given_requests
JSON_TABLE(v_requests, '$[*]' COLUMNS (
  unit INT PATH '$[0]', number INT PATH '$[1]', request_key VARBINARY(1500) PATH '$[2]',
  digest VARBINARY(1500) PATH '$[3]', reply LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[4]',
  first INT PATH '$[5]', count INT PATH '$[6]'))
-- name: given_scopes
JSON_TABLE(v_scopes, '$[*]' COLUMNS (
  scope VARBINARY(1500) PATH '$[0]', takes BIGINT PATH '$[1]', room BIGINT PATH '$[2]'))
-- name: given_permits
JSON_TABLE(v_slots, '$[*]' COLUMNS (unit INT PATH '$[0]', NESTED PATH '$[1][*]' COLUMNS (
  scope VARBINARY(1500) PATH '$[0]', member VARBINARY(1500) PATH '$[1]', until_ms BIGINT PATH '$[2]')))
-- name: known_requests
-- Reads only the columns that the lookup needs.
JSON_TABLE(v_requests, '$[*]' COLUMNS (
  unit INT PATH '$[0]', number INT PATH '$[1]', request_key VARBINARY(1500) PATH '$[2]')) r
      STRAIGHT_JOIN requests k
        ON k.tenant_id = v_tenant AND k.project_id = v_project AND k.request_key = r.request_key
-- name: scope_rows
${given_scopes} s STRAIGHT_JOIN scopes c ON c.tenant_id = v_tenant AND c.scope = s.scope
-- name: uncounted_max
-- After this many permits taken since the last count, a scope is recounted and its expired permits are deleted.
10000
-- name: forget_every
-- Old and surplus requests are deleted after this many new ones.
1024

-- name: shown
-- The heads and requests that caused refusals. Plain rows: to aggregate texts into one value, MariaDB creates a table
-- on disk. For a repeated batch it returns more than needed, in its current state.
SELECT v_run AS run, h.head
        FROM ${given_subjects} t
        STRAIGHT_JOIN heads h ON h.tenant_id = v_tenant AND h.project_id = v_project AND h.subject = t.subject
        WHERE v_is_repeated OR FIND_IN_SET(t.unit, v_out);
      SELECT v_run AS run, k.request_key, k.digest, k.reply, k.first_position, k.position_count
        FROM ${known_requests};

-- name: commit_batch
-- Locks every project of the batch in order, so that no other write intervenes; returns the stored outcome of a
-- repeated batch, or else applies run after run. The last result set holds the rows of `batches`.
--
-- Transactions and events are numbered within their run. `v_out` lists the refused transactions, `v_kept` the events
-- that are written, unless all are: an event's index in `v_kept` is its index among the new positions.
CREATE PROCEDURE commit_batch(
  p_batch_id BINARY(16), p_run_count INT, p_projects JSON, p_runs JSON, p_units JSON, p_touched JSON, p_heads JSON,
  p_numbers JSON, p_events JSON, p_requests JSON, p_scopes JSON, p_slots JSON, p_rooms JSON,
  p_head_texts LONGBLOB, p_event_texts LONGBLOB
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_run INT DEFAULT 0;
  DECLARE v_at VARCHAR(20) CHARACTER SET utf8mb4;
  DECLARE v_tenant, v_project VARBINARY(128);
  DECLARE v_units, v_touched, v_heads, v_numbers, v_events, v_requests, v_scopes, v_slots
    LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE v_count, v_has_notes, v_has_frees, v_rules_changes, v_kept_requests, v_wrote INT;
  DECLARE v_position, v_rules, v_made, v_oldest, v_now BIGINT;
  DECLARE v_known, v_moved, v_out, v_there, v_kept, v_refused LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE v_is_repeated TINYINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

  SET SESSION group_concat_max_len = 1073741824;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;

  INSERT INTO projects (tenant_id, project_id)
  SELECT p.tenant_id, p.project_id FROM ${given_projects} p
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

    IF v_is_repeated THEN
      ${shown};
      SET v_run = v_run + 1;
      ITERATE each_run;
    END IF;

    IF v_scopes <> '[]' THEN
      INSERT INTO scopes (tenant_id, scope, live_at_most)
      SELECT v_tenant, s.scope, s.takes FROM ${given_scopes} s
      ON DUPLICATE KEY UPDATE live_at_most = live_at_most + VALUES(live_at_most);
    END IF;

    -- Every lock is held: this is the time of the run.
    SELECT position, rules_seq, requests_made, GREATEST(last_ms, FLOOR(UNIX_TIMESTAMP(SYSDATE(6)) * 1000))
      INTO v_position, v_rules, v_made, v_now
      FROM projects WHERE tenant_id = v_tenant AND project_id = v_project;

    -- What was asked for before, and what has moved since it was decided on.
    IF v_requests <> '[]' THEN
      SELECT GROUP_CONCAT(DISTINCT r.unit) INTO v_known FROM ${known_requests};
    END IF;
    SELECT GROUP_CONCAT(DISTINCT t.unit) INTO v_moved
      FROM ${given_subjects} t
      LEFT JOIN heads h ON h.tenant_id = v_tenant AND h.project_id = v_project AND h.subject = t.subject
      WHERE COALESCE(h.seq, 0) <> t.seq;

    SELECT COALESCE(GROUP_CONCAT(j.unit), ''), JSON_OBJECTAGG(j.unit, j.kind) INTO v_out, v_refused
      FROM (
        SELECT u.unit, CASE
          WHEN FIND_IN_SET(u.unit, v_known) THEN 'replay'
          WHEN FIND_IN_SET(u.unit, v_moved) OR u.rules_seq <> v_rules THEN 'conflict'
          WHEN v_now < u.not_before_ms THEN 'early'
          WHEN v_now >= u.not_after_ms THEN 'late'
        END AS kind FROM ${given_units} u
      ) j WHERE j.kind IS NOT NULL;
    IF v_out = '' THEN
      SET v_refused = '{}';
    ELSE
      ${shown};
    END IF;

    -- A scope is counted only where it may be short; units take their places in turn only where it is.
    IF v_scopes <> '[]' THEN
      IF EXISTS (SELECT 1 FROM ${scope_rows}
        WHERE c.live_at_most > s.room OR c.live_at_most > 2 * c.counted + ${uncounted_max}) THEN
        CALL count_places(v_tenant, v_now, v_scopes);
      END IF;
      IF EXISTS (SELECT 1 FROM ${scope_rows} WHERE c.live_at_most > s.room) THEN
        CALL take_places_in_turn(v_tenant, v_project, v_now, v_scopes, v_slots,
          IF(p_run_count = 1, p_rooms, JSON_EXTRACT(p_rooms, v_at)), v_out, v_refused, v_wrote);
      ELSE
        -- In the order of the units: of two words about one member the last stands.
        INSERT INTO places (tenant_id, scope, project_id, member, until_ms)
        SELECT v_tenant, j.scope, v_project, j.member, j.until_ms FROM ${given_permits} j
        WHERE NOT FIND_IN_SET(j.unit, v_out)
        ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms);
        SET v_wrote = v_wrote + ROW_COUNT();
      END IF;
      IF v_has_frees THEN
        DELETE p FROM ${given_permits} j
        STRAIGHT_JOIN places p
          ON p.tenant_id = v_tenant AND p.project_id = v_project AND p.scope = j.scope AND p.member = j.member
        WHERE p.until_ms <= v_now;
      END IF;
    END IF;

    -- Who is left is committed.
    IF v_has_notes THEN
      SELECT GROUP_CONCAT(n.number) INTO v_there
        FROM ${given_numbers} n
        STRAIGHT_JOIN notes t ON t.tenant_id = v_tenant AND t.project_id = v_project AND t.event_id = n.note_id;
    END IF;
    IF v_out <> '' OR v_there IS NOT NULL THEN
      SELECT COALESCE(GROUP_CONCAT(n.number ORDER BY n.number), ''), COUNT(*) INTO v_kept, v_count
        FROM ${given_numbers} n
        WHERE NOT FIND_IN_SET(n.unit, v_out) AND NOT FIND_IN_SET(n.number, COALESCE(v_there, ''));
    END IF;

    IF v_heads <> '[]' THEN
      INSERT INTO heads (tenant_id, project_id, subject, seq, head)
      SELECT v_tenant, v_project, h.subject, h.seq, SUBSTRING(p_head_texts, h.text_at, h.text_bytes)
      FROM ${given_heads} h WHERE NOT FIND_IN_SET(h.unit, v_out)
      ON DUPLICATE KEY UPDATE seq = VALUES(seq), head = VALUES(head);
    END IF;
    IF v_count > 0 THEN
      INSERT INTO events (tenant_id, project_id, position, at_ms, event_type, subject, task_id, feature_id, edge,
        agent_id, session_id, event)
      SELECT v_tenant, v_project, v_position + IF(v_kept IS NULL, e.number, FIND_IN_SET(e.number, v_kept)),
        e.at_ms, e.event_type, e.subject, e.task_id, e.feature_id, e.edge, e.agent_id, e.session_id,
        SUBSTRING(p_event_texts, e.text_at, e.text_bytes)
      FROM ${given_events} e WHERE v_kept IS NULL OR FIND_IN_SET(e.number, v_kept);
      IF v_has_notes THEN
        INSERT INTO notes (tenant_id, project_id, event_id)
        SELECT v_tenant, v_project, n.note_id FROM ${given_numbers} n
        WHERE n.note_id IS NOT NULL AND (v_kept IS NULL OR FIND_IN_SET(n.number, v_kept));
      END IF;
    END IF;

    IF v_kept_requests > 0 THEN
      IF v_kept IS NULL THEN
        INSERT INTO requests (tenant_id, project_id, request_key, digest, reply, first_position, position_count,
          number, at_ms)
        SELECT v_tenant, v_project, r.request_key, r.digest, r.reply, v_position + r.first, r.count,
          v_made + r.number, v_now
        FROM ${given_requests} r
        WHERE r.number IS NOT NULL AND NOT FIND_IN_SET(r.unit, v_out);
      ELSE
        -- The written events of a transaction are consecutive.
        INSERT INTO requests (tenant_id, project_id, request_key, digest, reply, first_position, position_count,
          number, at_ms)
        SELECT v_tenant, v_project, r.request_key, r.digest, r.reply, v_position + COALESCE(s.first, 0),
          COALESCE(s.count, 0), v_made + r.number, v_now
        FROM ${given_requests} r
        LEFT JOIN (
          SELECT n.unit, MIN(FIND_IN_SET(n.number, v_kept)) AS first, COUNT(*) AS count
          FROM ${given_numbers} n WHERE FIND_IN_SET(n.number, v_kept) GROUP BY n.unit
        ) s ON s.unit = r.unit
        WHERE r.number IS NOT NULL AND NOT FIND_IN_SET(r.unit, v_out);
      END IF;
      SET v_wrote = v_wrote + ROW_COUNT();
      SET v_made = v_made + v_kept_requests;
      -- The oldest go from time to time, in the order in which they came.
      IF v_made DIV ${forget_every} > (v_made - v_kept_requests) DIV ${forget_every} THEN
        SELECT MIN(number) INTO v_oldest FROM requests WHERE tenant_id = v_tenant AND project_id = v_project;
        DELETE FROM requests
        WHERE tenant_id = v_tenant AND project_id = v_project AND number < v_oldest + 4 * ${forget_every}
          AND (at_ms < v_now - ${request_window_ms} OR number <= v_made - ${requests_max});
      END IF;
    END IF;

    IF v_out <> '' THEN SET v_rules_changes = 0; END IF;
    SET v_rules = v_rules + v_rules_changes;
    UPDATE projects
    SET position = v_position + v_count, rules_seq = v_rules, last_ms = v_now, requests_made = v_made,
      is_written = is_written OR v_wrote + v_count + v_rules_changes > 0
    WHERE tenant_id = v_tenant AND project_id = v_project;
    INSERT INTO batches (batch_id, run, position, rules_seq, now_ms, refused, kept)
    VALUES (p_batch_id, v_run, v_position, v_rules, v_now, NULLIF(v_refused, '{}'), v_kept);
    SET v_run = v_run + 1;
  END WHILE each_run;

  SELECT position, rules_seq, now_ms, refused, kept
    FROM batches WHERE batch_id = p_batch_id ORDER BY run;
  COMMIT;
END;

-- name: p_scopes
JSON_TABLE(p_scopes, '$[*]' COLUMNS (
  scope VARBINARY(1500) PATH '$[0]', takes BIGINT PATH '$[1]', room BIGINT PATH '$[2]'))
-- name: permits_of_one
JSON_TABLE(v_one, '$[1][*]' COLUMNS (
  scope VARBINARY(1500) PATH '$[0]', member VARBINARY(1500) PATH '$[1]', until_ms BIGINT PATH '$[2]'))
-- name: limits_of_one
JSON_TABLE(v_rooms, '$[*]' COLUMNS (number FOR ORDINALITY, scope VARBINARY(1500) PATH '$[0]', room BIGINT PATH '$[1]'))
-- name: held_permit
p.tenant_id = p_tenant AND p.scope = j.scope AND p.project_id = p_project AND p.member = j.member
-- name: was_live
COALESCE(p.until_ms > p_now, 0)
-- name: is_live
(j.until_ms > p_now)

-- name: count_places
-- Counts the permits of scopes and deletes expired ones. Between counts, a scope knows only an upper bound: every
-- permit taken since the last count, expired or not.
CREATE PROCEDURE count_places(p_tenant VARBINARY(128), p_now BIGINT, p_scopes JSON)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DELETE p FROM ${p_scopes} s STRAIGHT_JOIN places p ON p.tenant_id = p_tenant AND p.scope = s.scope
  WHERE p.until_ms <= p_now;
  UPDATE scopes c JOIN ${p_scopes} s ON s.scope = c.scope SET c.counted =
    (SELECT COUNT(*) FROM places p WHERE p.tenant_id = p_tenant AND p.scope = c.scope)
  WHERE c.tenant_id = p_tenant;
  UPDATE scopes c JOIN ${p_scopes} s ON s.scope = c.scope SET c.live_at_most = c.counted + s.takes
  WHERE c.tenant_id = p_tenant;
END;

-- name: take_places_in_turn
-- For scopes just counted that have fewer free permits than the run takes: takes them transaction by transaction until
-- the scope is full.
CREATE PROCEDURE take_places_in_turn(
  p_tenant VARBINARY(128), p_project VARBINARY(128), p_now BIGINT, p_scopes JSON, p_slots JSON, p_rooms JSON,
  INOUT p_out LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  INOUT p_refused LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, INOUT p_wrote INT
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_next, v_unit INT DEFAULT 0;
  DECLARE v_one, v_rooms LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE v_full VARBINARY(1500);

  UPDATE scopes c JOIN ${p_scopes} s ON s.scope = c.scope SET c.live_at_most = c.counted
  WHERE c.tenant_id = p_tenant;
  WHILE v_next < JSON_LENGTH(p_slots) DO
    SET v_one = JSON_EXTRACT(p_slots, CONCAT('$[', v_next, ']'));
    SET v_rooms = JSON_EXTRACT(p_rooms, CONCAT('$[', v_next, ']'));
    SET v_unit = JSON_EXTRACT(v_one, '$[0]');
    SET v_next = v_next + 1;
    IF NOT FIND_IN_SET(v_unit, p_out) THEN
      SET v_full = (
        SELECT r.scope FROM ${limits_of_one} r
        STRAIGHT_JOIN scopes c ON c.tenant_id = p_tenant AND c.scope = r.scope
        STRAIGHT_JOIN ${permits_of_one} j ON j.scope = r.scope
        LEFT JOIN places p ON ${held_permit}
        GROUP BY r.number, r.scope, r.room, c.live_at_most
        HAVING SUM(${is_live} > ${was_live}) > 0 AND c.live_at_most + SUM(${is_live}) - SUM(${was_live}) > r.room
        ORDER BY r.number LIMIT 1);
      IF v_full IS NULL THEN
        UPDATE scopes c SET c.live_at_most = c.live_at_most + (
          SELECT COALESCE(SUM(${is_live}) - SUM(${was_live}), 0) FROM ${permits_of_one} j
          LEFT JOIN places p ON ${held_permit} WHERE j.scope = c.scope)
        WHERE c.tenant_id = p_tenant AND c.scope IN (SELECT j.scope FROM ${permits_of_one} j);
        INSERT INTO places (tenant_id, scope, project_id, member, until_ms)
        SELECT p_tenant, j.scope, p_project, j.member, j.until_ms FROM ${permits_of_one} j
        ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms);
        SET p_wrote = p_wrote + ROW_COUNT();
      ELSE
        SET p_out = CONCAT_WS(',', NULLIF(p_out, ''), v_unit);
        SET p_refused = JSON_SET(p_refused, CONCAT('$."', v_unit, '"'),
          CONCAT('full ', CONVERT(v_full USING utf8mb4)));
      END IF;
    END IF;
  END WHILE;
END;
