-- The procedures of the commit. They use only SQL that MySQL 8 and MariaDB 10.6 both support: no RETURNING, no row
-- alias, no JSON in JSON variables.
--
-- MariaDB parses JSON character by character, once per column, and copies each variable of a statement into the
-- statement's text. So rows are short lists instead of objects, short columns first, and the texts of heads and events
-- are passed separately as bytes, addressed by offset.

-- name: clock_ms
-- SYSDATE is the current time; NOW is when the call began, before it waited for locks.
FLOOR(UNIX_TIMESTAMP(SYSDATE(6)) * 1000)
-- name: uncounted_max
-- If the permits taken since the last count exceed those counted by more than this, a scope is recounted and its expired
-- permits are deleted.
10000
-- name: forget_every
-- Old and surplus requests are deleted after this many new ones.
1024
-- name: no_limit
-- Stands for a limit that is missing: JSON_EXTRACT would return a JSON null, which is not NULL.
-1
-- name: given_scopes
JSON_TABLE(v_scopes, '$[*]' COLUMNS (
  takes BIGINT PATH '$[0]', max BIGINT PATH '$[1]', scope VARBINARY(1500) PATH '$[2]'))
-- name: scope_rows
${given_scopes} s STRAIGHT_JOIN scope c ON c.tenant_id = v_tenant AND c.scope = s.scope

-- name: lock_scopes
-- Locks the scopes in order, and adds the permits that the run takes. One scope at a time, because MariaDB creates a
-- table on disk for a join with a JSON table. Inserts only missing scopes: each attempt uses up a value of AUTO_INCREMENT.
SET v_next = 0, v_is_short = 0;
      WHILE v_next < JSON_LENGTH(v_scopes) DO
        SET v_at = CONCAT('$[', v_next, ']');
        SET v_takes = JSON_EXTRACT(v_scopes, CONCAT(v_at, '[0]'));
        SET v_max = NULLIF(JSON_EXTRACT(v_scopes, CONCAT(v_at, '[1]')), ${no_limit});
        SET v_scope = JSON_UNQUOTE(JSON_EXTRACT(v_scopes, CONCAT(v_at, '[2]')));
        SET v_scope_no = NULL;
        SELECT scope_no INTO v_scope_no FROM scope WHERE tenant_id = v_tenant AND scope = v_scope FOR UPDATE;
        IF v_scope_no IS NULL THEN
          INSERT INTO scope (tenant_id, scope) VALUES (v_tenant, v_scope)
          ON DUPLICATE KEY UPDATE live_at_most = scope.live_at_most;
        END IF;
        UPDATE scope SET live_at_most = live_at_most + v_takes WHERE tenant_id = v_tenant AND scope = v_scope;
        SELECT scope_no, v_is_short OR COALESCE(live_at_most > v_max, 0)
          OR (live_at_most > 2 * counted + ${uncounted_max} AND EXISTS (
            SELECT 1 FROM permit WHERE permit.scope_no = scope.scope_no))
          INTO v_scope_no, v_is_short
          FROM scope WHERE tenant_id = v_tenant AND scope = v_scope;
        SET v_next = v_next + 1;
      END WHILE;

-- name: scope_variables
DECLARE v_at VARCHAR(20) CHARACTER SET utf8mb4;
  DECLARE v_scope VARBINARY(1500);
  DECLARE v_scope_no INT UNSIGNED;
  DECLARE v_takes, v_max BIGINT;
  DECLARE v_next, v_is_short INT DEFAULT 0;
-- name: forget_requests
-- Deletes the oldest requests, in the order in which they came.
IF v_made DIV ${forget_every} > (v_made - v_request_count) DIV ${forget_every} THEN
        SELECT MIN(number) INTO v_oldest FROM request WHERE project_no = v_no;
        SELECT at_ms INTO v_oldest_ms FROM request WHERE project_no = v_no AND number = v_oldest LIMIT 1;
        IF v_oldest_ms < v_now - ${request_window_ms} OR v_oldest <= v_made - ${requests_max} THEN
          DELETE FROM request
          WHERE project_no = v_no AND number < v_oldest + 4 * ${forget_every}
            AND (at_ms < v_now - ${request_window_ms} OR number <= v_made - ${requests_max});
        END IF;
      END IF;

-- name: add_times
ON DUPLICATE KEY UPDATE
        first_ms = LEAST(event_time.first_ms, VALUES(first_ms)),
        last_ms = GREATEST(event_time.last_ms, VALUES(last_ms))

-- name: commit_common
-- Commits independent transactions of one project if none of them is refused. Otherwise it changes nothing and returns
-- no row, and `commit_batch` decides.
--
-- The writes are the checks: a head that has moved, a request or a loose event that exists makes its statement fail. So
-- no row is looked up before it is written.
CREATE PROCEDURE commit_common(
  p_batch_id BINARY(16), v_tenant VARBINARY(128), p_project VARBINARY(128), p_rules_seq BIGINT, p_not_before_ms BIGINT,
  p_not_after_ms BIGINT, p_due_ms BIGINT, p_head_changes INT, p_event_count INT, v_request_count INT, p_has_releases INT,
  p_head_scope VARBINARY(1500), v_scopes JSON, p_checks JSON, p_lookups JSON, p_heads JSON, p_head_texts LONGBLOB,
  p_events JSON, p_event_texts LONGBLOB, p_names JSON, p_times JSON, p_loose_events JSON, p_requests JSON, p_permits JSON
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
common: BEGIN
  DECLARE v_no, v_head_scope INT UNSIGNED;
  ${scope_variables};
  DECLARE v_position, v_rules, v_made, v_last, v_due, v_now, v_oldest, v_oldest_ms BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  -- A duplicate key, or a head's seq that is set to null.
  DECLARE EXIT HANDLER FOR 1062, 1048 BEGIN ROLLBACK; SELECT 1 FROM DUAL WHERE FALSE; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT project_no, position, rules_seq, requests_made, last_ms, due_ms
    INTO v_no, v_position, v_rules, v_made, v_last, v_due
    FROM project WHERE tenant_id = v_tenant AND project_id = p_project FOR UPDATE;
  IF EXISTS (SELECT 1 FROM batch WHERE batch_id = p_batch_id) THEN
    SELECT position, rules_seq, now_ms, refused, kept FROM batch WHERE batch_id = p_batch_id;
    ROLLBACK;
    LEAVE common;
  END IF;
  IF v_no IS NOT NULL AND v_scopes <> '[]' THEN
    ${lock_scopes};
    SELECT scope_no INTO v_head_scope FROM scope WHERE tenant_id = v_tenant AND scope = p_head_scope;
  END IF;

  -- Every lock is held: this is the time of the commit.
  SET v_now = GREATEST(v_last, ${clock_ms});
  IF v_no IS NULL OR p_rules_seq <> v_rules OR v_now < p_not_before_ms OR v_now >= p_not_after_ms
    OR v_is_short
    OR (p_checks <> '[]' AND EXISTS (
      SELECT 1 FROM JSON_TABLE(p_checks, '$[*]' COLUMNS (
        seq BIGINT PATH '$[0]', subject VARBINARY(1500) PATH '$[1]')) t
      LEFT JOIN head h ON h.project_no = v_no AND h.subject = t.subject
      WHERE COALESCE(h.seq, 0) <> t.seq))
    OR (p_lookups <> '[]' AND EXISTS (
      SELECT 1 FROM JSON_TABLE(p_lookups, '$[*]' COLUMNS (request_key VARBINARY(1500) PATH '$')) r
      STRAIGHT_JOIN request k ON k.project_no = v_no AND k.request_key = r.request_key))
  THEN
    ROLLBACK;
    SELECT 1 FROM DUAL WHERE FALSE;
    LEAVE common;
  END IF;

  -- If `until_ms` is null, the permit stays as it is; 0 releases it.
  IF p_heads <> '[]' THEN
    INSERT INTO head (project_no, subject, seq, permit_scope, permit_until_ms, head)
    SELECT v_no, h.subject, h.seq, IF(h.until_ms > 0, v_head_scope, NULL), NULLIF(h.until_ms, 0),
      SUBSTRING(p_head_texts, h.text_at, h.text_bytes)
    FROM JSON_TABLE(p_heads, '$[*]' COLUMNS (
      expected_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', until_ms BIGINT PATH '$[2]', text_at INT PATH '$[3]',
      text_bytes INT PATH '$[4]', subject VARBINARY(1500) PATH '$[5]')) h
    ON DUPLICATE KEY UPDATE
      permit_scope = IF(h.until_ms IS NULL, head.permit_scope, VALUES(permit_scope)),
      permit_until_ms = IF(h.until_ms IS NULL, head.permit_until_ms, VALUES(permit_until_ms)),
      head = VALUES(head), seq = IF(head.seq = h.expected_seq, VALUES(seq), NULL);
    -- An insert counts 1, an update 2: a head that was expected to exist, but was inserted, lowers the sum.
    IF ROW_COUNT() <> p_head_changes THEN
      ROLLBACK;
      SELECT 1 FROM DUAL WHERE FALSE;
      LEAVE common;
    END IF;
  END IF;
  IF p_event_count > 0 THEN
    INSERT INTO event (project_no, position, subject, agent_id, session_id, event)
    SELECT v_no, v_position + e.number, e.subject, e.agent_id, e.session_id,
      SUBSTRING(p_event_texts, e.text_at, e.text_bytes)
    FROM JSON_TABLE(p_events, '$[*]' COLUMNS (
      number FOR ORDINALITY, text_at INT PATH '$[0]', text_bytes INT PATH '$[1]',
      agent_id VARBINARY(1500) PATH '$[2]', session_id VARBINARY(1500) PATH '$[3]',
      subject VARBINARY(1500) PATH '$[4]')) e;
    INSERT INTO event_name (project_no, field, name, block)
    SELECT v_no, n.field, n.name, (v_position + n.number) DIV ${block_events}
    FROM JSON_TABLE(p_names, '$[*]' COLUMNS (
      number INT PATH '$[0]', field INT PATH '$[1]', name VARBINARY(1500) PATH '$[2]')) n
    ON DUPLICATE KEY UPDATE block = VALUES(block);
    INSERT INTO event_time (project_no, block, first_ms, last_ms)
    SELECT v_no, (v_position + t.number) DIV ${block_events}, t.first_ms, t.last_ms
    FROM JSON_TABLE(p_times, '$[*]' COLUMNS (
      number INT PATH '$[0]', first_ms BIGINT PATH '$[1]', last_ms BIGINT PATH '$[2]')) t
    ${add_times};
  END IF;
  IF p_loose_events <> '[]' THEN
    INSERT INTO loose_event (project_no, event_id)
    SELECT v_no, e.event_id
    FROM JSON_TABLE(p_loose_events, '$[*]' COLUMNS (event_id VARBINARY(1500) PATH '$')) e;
  END IF;
  IF v_request_count > 0 THEN
    INSERT INTO request (project_no, request_key, digest, reply, first_position, position_count, number, at_ms)
    SELECT v_no, r.request_key, r.digest, r.reply, v_position + r.first, r.count, v_made + r.number, v_now
    FROM JSON_TABLE(p_requests, '$[*]' COLUMNS (
      number FOR ORDINALITY, first INT PATH '$[0]', count INT PATH '$[1]', digest VARBINARY(1500) PATH '$[2]',
      request_key VARBINARY(1500) PATH '$[3]',
      reply LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[4]')) r;
    SET v_made = v_made + v_request_count;
    ${forget_requests};
  END IF;
  -- In order: the last entry per member wins.
  IF p_permits <> '[]' THEN
    INSERT INTO permit (scope_no, project_no, member, until_ms)
    SELECT c.scope_no, v_no, j.member, j.until_ms
    FROM JSON_TABLE(p_permits, '$[*]' COLUMNS (
      until_ms BIGINT PATH '$[0]', scope VARBINARY(1500) PATH '$[1]', member VARBINARY(1500) PATH '$[2]')) j
    STRAIGHT_JOIN scope c ON c.tenant_id = v_tenant AND c.scope = j.scope
    ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms);
    IF p_has_releases THEN
      DELETE p FROM JSON_TABLE(p_permits, '$[*]' COLUMNS (
        scope VARBINARY(1500) PATH '$[1]', member VARBINARY(1500) PATH '$[2]')) j
      STRAIGHT_JOIN scope c ON c.tenant_id = v_tenant AND c.scope = j.scope
      STRAIGHT_JOIN permit p ON p.scope_no = c.scope_no AND p.project_no = v_no AND p.member = j.member
      WHERE p.until_ms = 0;
    END IF;
  END IF;

  UPDATE project
  SET position = v_position + p_event_count, last_ms = v_now, requests_made = v_made, due_ms = LEAST(v_due, p_due_ms),
    is_written = is_written OR p_event_count + v_request_count > 0 OR p_permits <> '[]'
  WHERE tenant_id = v_tenant AND project_id = p_project;
  INSERT INTO batch (batch_id, run, position, rules_seq, now_ms) VALUES (p_batch_id, 0, v_position, v_rules, v_now);
  SELECT v_position AS position, v_rules AS rules_seq, v_now AS now_ms, NULL AS refused, NULL AS kept;
  COMMIT;
END;

-- name: given_projects
JSON_TABLE(p_projects, '$[*]' COLUMNS (tenant_id VARBINARY(128) PATH '$[0]', project_id VARBINARY(128) PATH '$[1]'))
-- name: given_transactions
JSON_TABLE(v_transactions, '$[*]' COLUMNS (
  txn INT PATH '$[0]', rules_seq BIGINT PATH '$[1]', not_before_ms BIGINT PATH '$[2]',
  not_after_ms BIGINT PATH '$[3]'))
-- name: given_subjects
JSON_TABLE(v_subjects, '$[*]' COLUMNS (
  txn INT PATH '$[0]', seq BIGINT PATH '$[1]', subject VARBINARY(1500) PATH '$[2]'))
-- name: given_heads
JSON_TABLE(v_heads, '$[*]' COLUMNS (
  txn INT PATH '$[0]', seq BIGINT PATH '$[1]', text_at INT PATH '$[2]', text_bytes INT PATH '$[3]',
  subject VARBINARY(1500) PATH '$[4]'))
-- name: given_numbers
JSON_TABLE(v_events, '$[*]' COLUMNS (
  number FOR ORDINALITY, txn INT PATH '$[0]', loose_event_id VARBINARY(1500) PATH '$[1]'))
-- name: given_events
JSON_TABLE(v_events, '$[*]' COLUMNS (
  number FOR ORDINALITY, text_at INT PATH '$[2]', text_bytes INT PATH '$[3]', at_ms BIGINT PATH '$[4]',
  agent_id VARBINARY(1500) PATH '$[5]', session_id VARBINARY(1500) PATH '$[6]', subject VARBINARY(1500) PATH '$[7]'))
-- name: given_names
JSON_TABLE(v_names, '$[*]' COLUMNS (
  number INT PATH '$[0]', field INT PATH '$[1]', name VARBINARY(1500) PATH '$[2]'))
-- name: given_requests
JSON_TABLE(v_requests, '$[*]' COLUMNS (
  txn INT PATH '$[0]', number INT PATH '$[1]', first INT PATH '$[2]', count INT PATH '$[3]',
  digest VARBINARY(1500) PATH '$[4]', request_key VARBINARY(1500) PATH '$[5]',
  reply LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[6]'))
-- name: given_permits
JSON_TABLE(v_permits, '$[*]' COLUMNS (txn INT PATH '$[0]', NESTED PATH '$[1][*]' COLUMNS (
  until_ms BIGINT PATH '$[0]', on_head INT PATH '$[1]', scope VARBINARY(1500) PATH '$[2]',
  member VARBINARY(1500) PATH '$[3]')))
-- name: known_requests
-- Reads only the columns that the lookup needs.
JSON_TABLE(v_requests, '$[*]' COLUMNS (txn INT PATH '$[0]', request_key VARBINARY(1500) PATH '$[5]')) r
      STRAIGHT_JOIN request k ON k.project_no = v_no AND k.request_key = r.request_key
-- name: refusal_rows
-- The heads and requests that caused refusals, as rows: to aggregate texts into one value, MariaDB would create a table
-- on disk. For a repeated batch these are more rows than needed, with their current state.
SELECT v_run AS run, h.head
        FROM ${given_subjects} t
        STRAIGHT_JOIN head h ON h.project_no = v_no AND h.subject = t.subject
        WHERE v_is_repeated OR FIND_IN_SET(t.txn, v_out);
      SELECT v_run AS run, k.request_key, k.digest, k.reply, k.first_position, k.position_count
        FROM ${known_requests};

-- name: commit_batch
-- Commits any transactions. The store splits the batch into runs, which are groups of independent transactions, so that
-- the transactions of a run are decided and written together, with one statement for all of them (see batch.ts). Locks
-- every project of the batch in order, so that no other write intervenes; returns the stored outcome of a repeated
-- batch, or else applies run after run. The last result set holds the rows of `batch`.
--
-- Transactions and events are numbered within their run. `v_out` lists the refused transactions, `v_kept` the events
-- that are written, unless all are: an event's index in `v_kept` is its index among the new positions.
CREATE PROCEDURE commit_batch(
  p_batch_id BINARY(16), p_run_count INT, p_projects JSON, p_runs JSON, p_transactions JSON, p_subjects JSON,
  p_heads JSON, p_events JSON, p_names JSON, p_requests JSON, p_scopes JSON, p_permits JSON, p_limits JSON,
  p_head_texts LONGBLOB, p_event_texts LONGBLOB
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_run INT DEFAULT 0;
  DECLARE v_run_at VARCHAR(20) CHARACTER SET utf8mb4;
  DECLARE v_tenant, v_project VARBINARY(128);
  DECLARE v_transactions, v_subjects, v_heads, v_events, v_names, v_requests, v_scopes, v_permits
    LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE v_count, v_has_loose, v_has_releases, v_rules_changes, v_request_count, v_wrote, v_found INT;
  DECLARE v_no INT UNSIGNED;
  ${scope_variables};
  DECLARE v_position, v_rules, v_made, v_oldest, v_oldest_ms, v_due, v_now BIGINT;
  DECLARE v_known, v_moved, v_out, v_existing, v_kept, v_refused LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE v_is_repeated TINYINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

  SET SESSION group_concat_max_len = 1073741824;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;

  -- Inserts only what is missing: with InnoDB, even an insert without effect uses up an AUTO_INCREMENT value.
  INSERT INTO project (tenant_id, project_id)
  SELECT g.tenant_id, g.project_id FROM ${given_projects} g
  LEFT JOIN project p ON p.tenant_id = g.tenant_id AND p.project_id = g.project_id WHERE p.project_no IS NULL
  ON DUPLICATE KEY UPDATE is_written = project.is_written;
  SELECT COUNT(*) INTO v_found FROM ${given_projects} g
  STRAIGHT_JOIN project p ON p.tenant_id = g.tenant_id AND p.project_id = g.project_id FOR UPDATE;

  SET v_is_repeated = EXISTS (SELECT 1 FROM batch WHERE batch_id = p_batch_id);

  each_run: WHILE v_run < p_run_count DO
    SET v_run_at = CONCAT('$[', v_run, ']');
    SET v_tenant = JSON_UNQUOTE(JSON_EXTRACT(p_runs, CONCAT(v_run_at, '.tenant_id')));
    SET v_project = JSON_UNQUOTE(JSON_EXTRACT(p_runs, CONCAT(v_run_at, '.project_id')));
    SET v_count = JSON_EXTRACT(p_runs, CONCAT(v_run_at, '.events'));
    SET v_has_loose = JSON_EXTRACT(p_runs, CONCAT(v_run_at, '.has_loose_events'));
    SET v_has_releases = JSON_EXTRACT(p_runs, CONCAT(v_run_at, '.has_releases'));
    SET v_request_count = JSON_EXTRACT(p_runs, CONCAT(v_run_at, '.kept_requests'));
    SET v_rules_changes = JSON_EXTRACT(p_runs, CONCAT(v_run_at, '.rules_changes'));
    SET v_transactions = IF(p_run_count = 1, p_transactions, JSON_EXTRACT(p_transactions, v_run_at));
    SET v_subjects = IF(p_run_count = 1, p_subjects, JSON_EXTRACT(p_subjects, v_run_at));
    SET v_heads = IF(p_run_count = 1, p_heads, JSON_EXTRACT(p_heads, v_run_at));
    SET v_events = IF(p_run_count = 1, p_events, JSON_EXTRACT(p_events, v_run_at));
    SET v_names = IF(p_run_count = 1, p_names, JSON_EXTRACT(p_names, v_run_at));
    SET v_requests = IF(p_run_count = 1, p_requests, JSON_EXTRACT(p_requests, v_run_at));
    SET v_scopes = IF(p_run_count = 1, p_scopes, JSON_EXTRACT(p_scopes, v_run_at));
    SET v_permits = IF(p_run_count = 1, p_permits, JSON_EXTRACT(p_permits, v_run_at));
    SET v_wrote = 0;
    SET v_refused = '{}';
    SET v_known = NULL, v_existing = NULL, v_kept = NULL;
    SELECT project_no INTO v_no FROM project WHERE tenant_id = v_tenant AND project_id = v_project;

    IF v_is_repeated THEN
      ${refusal_rows};
      SET v_run = v_run + 1;
      ITERATE each_run;
    END IF;

    IF v_scopes <> '[]' THEN
      ${lock_scopes};
    END IF;

    -- Every lock is held: this is the time of the run.
    SELECT position, rules_seq, requests_made, due_ms, GREATEST(last_ms, ${clock_ms})
      INTO v_position, v_rules, v_made, v_due, v_now
      FROM project WHERE tenant_id = v_tenant AND project_id = v_project;

    -- The transactions whose request was remembered, and those with a head that has moved since the decision.
    IF v_requests <> '[]' THEN
      SELECT GROUP_CONCAT(DISTINCT r.txn) INTO v_known FROM ${known_requests};
    END IF;
    SELECT GROUP_CONCAT(DISTINCT t.txn) INTO v_moved
      FROM ${given_subjects} t
      LEFT JOIN head h ON h.project_no = v_no AND h.subject = t.subject
      WHERE COALESCE(h.seq, 0) <> t.seq;

    SELECT COALESCE(GROUP_CONCAT(j.txn), ''), JSON_OBJECTAGG(j.txn, j.kind) INTO v_out, v_refused
      FROM (
        SELECT u.txn, CASE
          WHEN FIND_IN_SET(u.txn, v_known) THEN 'replay'
          WHEN FIND_IN_SET(u.txn, v_moved) OR u.rules_seq <> v_rules THEN 'conflict'
          WHEN v_now < u.not_before_ms THEN 'early'
          WHEN v_now >= u.not_after_ms THEN 'late'
        END AS kind FROM ${given_transactions} u
      ) j WHERE j.kind IS NOT NULL;
    IF v_out = '' THEN
      SET v_refused = '{}';
    ELSE
      ${refusal_rows};
    END IF;

    -- A scope is counted only if it may be short of permits. Transactions take permits in turn only if it is.
    IF v_scopes <> '[]' THEN
      IF v_is_short THEN
        CALL count_permits(v_tenant, v_now, v_scopes);
      END IF;
      IF v_is_short AND EXISTS (SELECT 1 FROM ${scope_rows} WHERE s.max <> ${no_limit} AND c.live_at_most > s.max) THEN
        CALL take_permits_in_turn(v_tenant, v_no, v_now, v_scopes, v_permits,
          IF(p_run_count = 1, p_limits, JSON_EXTRACT(p_limits, v_run_at)), v_out, v_refused, v_wrote);
      ELSE
        -- In the order of the transactions: the last entry per member wins.
        INSERT INTO permit (scope_no, project_no, member, until_ms)
        SELECT c.scope_no, v_no, j.member, j.until_ms FROM ${given_permits} j
        STRAIGHT_JOIN scope c ON c.tenant_id = v_tenant AND c.scope = j.scope
        WHERE NOT j.on_head AND NOT FIND_IN_SET(j.txn, v_out)
        ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms);
        SET v_wrote = v_wrote + ROW_COUNT();
      END IF;
      IF v_has_releases THEN
        DELETE p FROM ${given_permits} j
        STRAIGHT_JOIN scope c ON c.tenant_id = v_tenant AND c.scope = j.scope
        STRAIGHT_JOIN permit p ON p.scope_no = c.scope_no AND p.project_no = v_no AND p.member = j.member
        WHERE p.until_ms <= v_now;
      END IF;
    END IF;

    -- The remaining transactions are committed.
    IF v_has_loose THEN
      SELECT GROUP_CONCAT(n.number) INTO v_existing
        FROM ${given_numbers} n
        STRAIGHT_JOIN loose_event t ON t.project_no = v_no AND t.event_id = n.loose_event_id;
    END IF;
    IF v_out <> '' OR v_existing IS NOT NULL THEN
      SELECT COALESCE(GROUP_CONCAT(n.number ORDER BY n.number), ''), COUNT(*) INTO v_kept, v_count
        FROM ${given_numbers} n
        WHERE NOT FIND_IN_SET(n.txn, v_out) AND NOT FIND_IN_SET(n.number, COALESCE(v_existing, ''));
    END IF;

    IF v_heads <> '[]' THEN
      INSERT INTO head (project_no, subject, seq, head)
      SELECT v_no, h.subject, h.seq, SUBSTRING(p_head_texts, h.text_at, h.text_bytes)
      FROM ${given_heads} h WHERE NOT FIND_IN_SET(h.txn, v_out)
      ON DUPLICATE KEY UPDATE seq = VALUES(seq), head = VALUES(head);
    END IF;
    -- A run has one permit per head at most.
    IF v_scopes <> '[]' THEN
      UPDATE ${given_permits} j
      STRAIGHT_JOIN scope c ON c.tenant_id = v_tenant AND c.scope = j.scope
      STRAIGHT_JOIN head h ON h.project_no = v_no AND h.subject = j.member
      SET h.permit_scope = IF(j.until_ms > 0, c.scope_no, NULL), h.permit_until_ms = NULLIF(j.until_ms, 0)
      WHERE j.on_head AND NOT FIND_IN_SET(j.txn, v_out);
      SET v_wrote = v_wrote + ROW_COUNT();
      SELECT LEAST(v_due, COALESCE(MIN(NULLIF(j.until_ms, 0)), v_due)) INTO v_due
        FROM ${given_permits} j WHERE j.on_head AND NOT FIND_IN_SET(j.txn, v_out);
    END IF;
    IF v_count > 0 THEN
      INSERT INTO event (project_no, position, subject, agent_id, session_id, event)
      SELECT v_no, v_position + IF(v_kept IS NULL, e.number, FIND_IN_SET(e.number, v_kept)),
        e.subject, e.agent_id, e.session_id, SUBSTRING(p_event_texts, e.text_at, e.text_bytes)
      FROM ${given_events} e WHERE v_kept IS NULL OR FIND_IN_SET(e.number, v_kept);
      INSERT INTO event_name (project_no, field, name, block)
      SELECT v_no, n.field, n.name,
        (v_position + IF(v_kept IS NULL, n.number, FIND_IN_SET(n.number, v_kept))) DIV ${block_events}
      FROM ${given_names} n WHERE v_kept IS NULL OR FIND_IN_SET(n.number, v_kept)
      ON DUPLICATE KEY UPDATE block = VALUES(block);
      INSERT INTO event_time (project_no, block, first_ms, last_ms)
      SELECT v_no, (v_position + IF(v_kept IS NULL, e.number, FIND_IN_SET(e.number, v_kept))) DIV ${block_events},
        e.at_ms, e.at_ms
      FROM ${given_events} e WHERE e.at_ms IS NOT NULL AND (v_kept IS NULL OR FIND_IN_SET(e.number, v_kept))
      ${add_times};
      IF v_has_loose THEN
        INSERT INTO loose_event (project_no, event_id)
        SELECT v_no, n.loose_event_id FROM ${given_numbers} n
        WHERE n.loose_event_id IS NOT NULL AND (v_kept IS NULL OR FIND_IN_SET(n.number, v_kept));
      END IF;
    END IF;

    IF v_request_count > 0 THEN
      -- The written events of a transaction are consecutive.
      INSERT INTO request (project_no, request_key, digest, reply, first_position, position_count, number, at_ms)
      SELECT v_no, r.request_key, r.digest, r.reply, v_position + IF(v_kept IS NULL, r.first, COALESCE(s.first, 0)),
        IF(v_kept IS NULL, r.count, COALESCE(s.count, 0)), v_made + r.number, v_now
      FROM ${given_requests} r
      LEFT JOIN (
        SELECT n.txn, MIN(FIND_IN_SET(n.number, v_kept)) AS first, COUNT(*) AS count
        FROM ${given_numbers} n WHERE FIND_IN_SET(n.number, v_kept) GROUP BY n.txn
      ) s ON s.txn = r.txn
      WHERE r.number IS NOT NULL AND NOT FIND_IN_SET(r.txn, v_out);
      SET v_wrote = v_wrote + ROW_COUNT();
      SET v_made = v_made + v_request_count;
      ${forget_requests};
    END IF;

    IF v_out <> '' THEN SET v_rules_changes = 0; END IF;
    SET v_rules = v_rules + v_rules_changes;
    UPDATE project
    SET position = v_position + v_count, rules_seq = v_rules, last_ms = v_now, requests_made = v_made, due_ms = v_due,
      is_written = is_written OR v_wrote + v_count + v_rules_changes > 0
    WHERE tenant_id = v_tenant AND project_id = v_project;
    INSERT INTO batch (batch_id, run, position, rules_seq, now_ms, refused, kept)
    VALUES (p_batch_id, v_run, v_position, v_rules, v_now, NULLIF(v_refused, '{}'), v_kept);
    SET v_run = v_run + 1;
  END WHILE each_run;

  SELECT position, rules_seq, now_ms, refused, kept
    FROM batch WHERE batch_id = p_batch_id ORDER BY run;
  COMMIT;
END;

-- name: counted_scopes
JSON_TABLE(p_scopes, '$[*]' COLUMNS (takes BIGINT PATH '$[0]', scope VARBINARY(1500) PATH '$[2]'))
-- name: permits_of_one
JSON_TABLE(v_one, '$[1][*]' COLUMNS (
  until_ms BIGINT PATH '$[0]', on_head INT PATH '$[1]', scope VARBINARY(1500) PATH '$[2]',
  member VARBINARY(1500) PATH '$[3]'))
-- name: limits_of_one
JSON_TABLE(v_limits, '$[*]' COLUMNS (number FOR ORDINALITY, max BIGINT PATH '$[0]', scope VARBINARY(1500) PATH '$[1]'))
-- name: held_permits
LEFT JOIN permit p ON p.scope_no = c.scope_no AND p.project_no = p_no AND p.member = j.member
        LEFT JOIN head h ON j.on_head AND h.project_no = p_no AND h.subject = j.member AND h.permit_scope = c.scope_no
-- name: was_live
(COALESCE(p.until_ms, h.permit_until_ms, 0) > p_now)
-- name: is_live
(j.until_ms > p_now)

-- name: count_permits
-- Counts the permits of scopes, and deletes expired ones. An expired permit on a head stays: it makes its project due.
CREATE PROCEDURE count_permits(p_tenant VARBINARY(128), p_now BIGINT, p_scopes JSON)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DELETE p FROM ${counted_scopes} s
  STRAIGHT_JOIN scope c ON c.tenant_id = p_tenant AND c.scope = s.scope
  STRAIGHT_JOIN permit p ON p.scope_no = c.scope_no
  WHERE p.until_ms <= p_now;
  UPDATE scope c JOIN ${counted_scopes} s ON s.scope = c.scope SET c.counted =
    (SELECT COUNT(*) FROM permit p WHERE p.scope_no = c.scope_no)
    + (SELECT COUNT(*) FROM head h WHERE h.permit_scope = c.scope_no AND h.permit_until_ms > p_now)
  WHERE c.tenant_id = p_tenant;
  UPDATE scope c JOIN ${counted_scopes} s ON s.scope = c.scope SET c.live_at_most = c.counted + s.takes
  WHERE c.tenant_id = p_tenant;
END;

-- name: take_permits_in_turn
-- Takes permits transaction by transaction, and refuses each transaction for which a scope is full. Called when scopes that
-- were just counted have fewer free permits than the run takes. Permits on heads are only counted here, since the heads
-- are not written yet.
CREATE PROCEDURE take_permits_in_turn(
  p_tenant VARBINARY(128), p_no INT UNSIGNED, p_now BIGINT, p_scopes JSON, p_permits JSON, p_limits JSON,
  INOUT p_out LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  INOUT p_refused LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, INOUT p_wrote INT
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_next, v_txn INT DEFAULT 0;
  DECLARE v_one, v_limits LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE v_full VARBINARY(1500);

  UPDATE scope c JOIN ${counted_scopes} s ON s.scope = c.scope SET c.live_at_most = c.counted
  WHERE c.tenant_id = p_tenant;
  WHILE v_next < JSON_LENGTH(p_permits) DO
    SET v_one = JSON_EXTRACT(p_permits, CONCAT('$[', v_next, ']'));
    SET v_limits = JSON_EXTRACT(p_limits, CONCAT('$[', v_next, ']'));
    SET v_txn = JSON_EXTRACT(v_one, '$[0]');
    SET v_next = v_next + 1;
    IF NOT FIND_IN_SET(v_txn, p_out) THEN
      SET v_full = (
        SELECT r.scope FROM ${limits_of_one} r
        STRAIGHT_JOIN scope c ON c.tenant_id = p_tenant AND c.scope = r.scope
        STRAIGHT_JOIN ${permits_of_one} j ON j.scope = r.scope
        ${held_permits}
        GROUP BY r.number, r.scope, r.max, c.live_at_most
        HAVING SUM(${is_live} > ${was_live}) > 0 AND c.live_at_most + SUM(${is_live}) - SUM(${was_live}) > r.max
        ORDER BY r.number LIMIT 1);
      IF v_full IS NULL THEN
        UPDATE scope c SET c.live_at_most = c.live_at_most + (
          SELECT COALESCE(SUM(${is_live}) - SUM(${was_live}), 0) FROM ${permits_of_one} j
          ${held_permits} WHERE j.scope = c.scope)
        WHERE c.tenant_id = p_tenant AND c.scope IN (SELECT j.scope FROM ${permits_of_one} j);
        INSERT INTO permit (scope_no, project_no, member, until_ms)
        SELECT c.scope_no, p_no, j.member, j.until_ms FROM ${permits_of_one} j
        STRAIGHT_JOIN scope c ON c.tenant_id = p_tenant AND c.scope = j.scope WHERE NOT j.on_head
        ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms);
        SET p_wrote = p_wrote + ROW_COUNT();
      ELSE
        SET p_out = CONCAT_WS(',', NULLIF(p_out, ''), v_txn);
        SET p_refused = JSON_SET(p_refused, CONCAT('$."', v_txn, '"'),
          CONCAT('full ', CONVERT(v_full USING utf8mb4)));
      END IF;
    END IF;
  END WHILE;
END;

-- name: due_projects
-- Replaces `due_ms`, a lower bound, by the exact time for each project whose bound has passed, under the lock of the
-- project. Returns the projects that are due. Stops when no other project can be among the first.
CREATE PROCEDURE due_projects(p_now BIGINT, p_limit INT)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_tenant, v_project VARBINARY(128);
  DECLARE v_no INT UNSIGNED;
  DECLARE v_bound, v_due, v_now BIGINT;
  DECLARE v_latest BIGINT DEFAULT 0;
  DECLARE v_found INT DEFAULT 0;
  DECLARE v_is_done TINYINT DEFAULT 0;
  DECLARE passed CURSOR FOR
    SELECT tenant_id, project_id, due_ms FROM project WHERE due_ms <= v_now ORDER BY due_ms;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_is_done = 1;

  SET v_now = GREATEST(p_now, ${clock_ms});
  OPEN passed;
  each_project: LOOP
    FETCH passed INTO v_tenant, v_project, v_bound;
    IF v_is_done OR (v_found >= p_limit AND v_bound >= v_latest) THEN LEAVE each_project; END IF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    SELECT project_no INTO v_no FROM project WHERE tenant_id = v_tenant AND project_id = v_project FOR UPDATE;
    SELECT COALESCE(MIN(h.permit_until_ms), ${forever_ms}) INTO v_due
      FROM scope c STRAIGHT_JOIN head h ON h.permit_scope = c.scope_no AND h.project_no = v_no
      WHERE c.tenant_id = v_tenant;
    UPDATE project SET due_ms = v_due WHERE tenant_id = v_tenant AND project_id = v_project;
    COMMIT;
    IF v_due <= v_now THEN
      SET v_found = v_found + 1;
      SET v_latest = GREATEST(v_latest, v_due);
    END IF;
  END LOOP;
  CLOSE passed;
  SELECT tenant_id, project_id FROM project WHERE due_ms <= v_now ORDER BY due_ms LIMIT p_limit;
END;
