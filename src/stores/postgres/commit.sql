-- name: decide
-- Decides transactions by the rules of `ProjectLedger.apply`, on numbers alone. The state that a batch concerns is loaded
-- into arrays and written back from them, so that a batch takes a few statements however many transactions it has.
--
-- `script` holds one transaction after the other:
--   project, rules_seq or -1, changes_rules, not_before, not_after, has_effect,
--   the number of swaps, checks, requests, loose events, permits, limits and events of swaps, then these:
--   swap: subject, expected_seq, events   check: subject, expected_seq   request: request, keep
--   loose event: its number               permit: its number, until      limit: scope, max
-- `reply` has for each transaction, in the same order, its kind (OUTCOME_CODE in batch.ts) and
--   committed: rules_seq; the positions of its events are in `event_position`, 0 for a loose event that existed
--   conflict: rules_seq, then for each swap and check the swap of this batch that made its head, 0 for none
--   replay: request, and the request of this batch that was kept under that key, -1 for none   full: scope
CREATE FUNCTION decide(
  script bigint[],
  now_ms bigint,
  is_never_full boolean,                   -- no scope can become full in this batch
  permit_scope int[],                 -- by permit
  INOUT position_of bigint[],         -- by project
  INOUT rules_of bigint[],            -- by project
  INOUT written_in boolean[],         -- by project: whether this batch changed anything
  INOUT kept_in bigint[],             -- by project: requests that this batch keeps
  INOUT seq_of bigint[],              -- by subject
  INOUT swap_of bigint[],             -- by subject: the last swap that moved it, 0 for none
  INOUT shown_of boolean[],           -- by subject: whether a conflict shows its head
  INOUT kept_of bigint[],             -- by distinct request: 0 unknown, -1 in the table, else the request that was kept
  INOUT loose_known boolean[],        -- by distinct loose event
  INOUT until_of bigint[],            -- by permit
  INOUT live_of bigint[],             -- by scope
  INOUT event_position bigint[],      -- by event, 0 for one that is not written
  INOUT request_first bigint[],       -- by request: the first position of its transaction, -1 for one that is not kept
  INOUT request_events bigint[],      -- by request: how many events its transaction has
  OUT reply bigint[]
) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  -- Of one type, because a cast at each assignment costs more than the assignment.
  at bigint := 1;                     -- where in the script
  event bigint := 0;                  -- events, swaps and requests before this transaction's
  swap bigint := 0;
  request bigint := 0;
  project bigint; kind bigint; first bigint; number bigint; scope bigint; i bigint; j bigint;
  checks_at bigint; requests_at bigint; loose_at bigint; permits_at bigint; limits_at bigint; next_at bigint;
  added bigint; freed bigint;
BEGIN
  reply := '{}';
  WHILE at <= cardinality(script) LOOP
    project := script[at];
    checks_at := at + 13 + 3 * script[at + 6];
    requests_at := checks_at + 2 * script[at + 7];
    loose_at := requests_at + 2 * script[at + 8];
    permits_at := loose_at + script[at + 9];
    limits_at := permits_at + 2 * script[at + 10];
    next_at := limits_at + 2 * script[at + 11];
    kind := ${committed};

    -- A request that is known
    i := requests_at;
    WHILE i < loose_at LOOP
      number := script[i];
      IF kept_of[number] <> 0 THEN
        kind := ${replay};
        reply := reply || kind; reply := reply || number; reply := reply || kept_of[number];
        EXIT;
      END IF;
      i := i + 2;
    END LOOP;

    -- Rules or heads that have moved; time; limits
    IF kind = ${committed} THEN
      IF script[at + 1] NOT IN (-1, rules_of[project]) THEN kind := ${conflict}; END IF;
      i := at + 13;
      WHILE i < checks_at LOOP
        IF seq_of[script[i]] <> script[i + 1] THEN kind := ${conflict}; END IF;
        i := i + 3;
      END LOOP;
      WHILE i < requests_at LOOP
        IF seq_of[script[i]] <> script[i + 1] THEN kind := ${conflict}; END IF;
        i := i + 2;
      END LOOP;
      IF kind = ${conflict} THEN
        reply := reply || kind; reply := reply || rules_of[project];
        i := at + 13;
        WHILE i < requests_at LOOP
          shown_of[script[i]] := true; reply := reply || swap_of[script[i]];
          i := i + CASE WHEN i < checks_at THEN 3 ELSE 2 END;
        END LOOP;
      ELSIF now_ms < script[at + 3] THEN
        kind := ${early}; reply := reply || kind;
      ELSIF now_ms >= script[at + 4] THEN
        kind := ${late}; reply := reply || kind;
      ELSIF NOT is_never_full THEN
        i := limits_at;
        WHILE i < next_at LOOP
          scope := script[i];
          IF live_of[scope] + script[at + 10] > script[i + 1] THEN
            added := 0; freed := 0; j := permits_at;
            WHILE j < limits_at LOOP
              number := script[j];
              IF permit_scope[number] = scope THEN
                IF script[j + 1] > now_ms AND until_of[number] <= now_ms THEN added := added + 1; END IF;
                IF script[j + 1] <= now_ms AND until_of[number] > now_ms THEN freed := freed + 1; END IF;
              END IF;
              j := j + 2;
            END LOOP;
            IF added > 0 AND live_of[scope] + added - freed > script[i + 1] THEN
              kind := ${full}; reply := reply || kind; reply := reply || scope;
              EXIT;
            END IF;
          END IF;
          i := i + 2;
        END LOOP;
      END IF;
    END IF;

    -- The transaction is committed
    IF kind = ${committed} THEN
      IF script[at + 2] = 1 THEN rules_of[project] := rules_of[project] + 1; END IF;
      IF script[at + 5] = 1 THEN written_in[project] := true; END IF;
      reply := reply || kind; reply := reply || rules_of[project];
      first := position_of[project] + 1;
      number := first;
      i := at + 13;
      WHILE i < checks_at LOOP
        swap := swap + 1;
        seq_of[script[i]] := script[i + 1] + script[i + 2];
        swap_of[script[i]] := swap;
        FOR k IN 1 .. script[i + 2] LOOP
          event := event + 1; event_position[event] := number;
          number := number + 1;
        END LOOP;
        i := i + 3;
      END LOOP;
      i := loose_at;
      WHILE i < permits_at LOOP
        event := event + 1;
        IF NOT loose_known[script[i]] THEN
          loose_known[script[i]] := true; event_position[event] := number;
          number := number + 1;
        END IF;
        i := i + 1;
      END LOOP;
      position_of[project] := number - 1;
      i := requests_at;
      WHILE i < loose_at LOOP
        request := request + 1;
        IF script[i + 1] = 1 THEN
          kept_of[script[i]] := request; kept_in[project] := kept_in[project] + 1;
          request_first[request] := first; request_events[request] := number - first;
        END IF;
        i := i + 2;
      END LOOP;
      i := permits_at;
      WHILE i < limits_at LOOP
        number := script[i];
        IF (script[i + 1] > now_ms) <> (until_of[number] > now_ms) THEN
          scope := permit_scope[number];
          live_of[scope] := live_of[scope] + CASE WHEN script[i + 1] > now_ms THEN 1 ELSE -1 END;
        END IF;
        until_of[number] := script[i + 1];
        i := i + 2;
      END LOOP;
    ELSE
      swap := swap + script[at + 6];
      request := request + script[at + 8];
      event := event + script[at + 12] + script[at + 9];
    END IF;
    at := next_at;
  END LOOP;
END $$;

-- name: commit_batch
-- Commits any batch in one call: lock, read the clock, load, decide, write. Lists of names and of JSON are passed as
-- lines, since neither contains a line feed; repeated values are numbered 1, 2, 3 …
CREATE FUNCTION commit_batch(
  batch uuid,
  script bigint[],
  tenant_lines text, project_lines text,                               -- the projects
  subject_project int[], subject_lines text,                           -- the subjects
  scope_tenant_lines text, scope_lines text, scope_takes int[], scope_max bigint[],
  permit_project int[], permit_scope int[], permit_on_head boolean[], member_lines text,
  request_project int[], request_lines text,                           -- the distinct requests
  loose_project int[], loose_lines text,                               -- the distinct loose events
  head_lines text,                                                     -- of each swap
  kept_project int[], kept_key_lines text, digest_lines text, reply_lines text,  -- of each request
  event_project int[], event_at bigint[], event_same_task boolean[], event_type_lines text, event_subject_lines text,
  event_task_lines text, event_feature_lines text, event_edge_lines text, event_agent_lines text,
  event_session_lines text, event_body_lines text
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  tenants text[] := string_to_array(tenant_lines, E'\n');
  projects text[] := string_to_array(project_lines, E'\n');
  subjects text[] := string_to_array(subject_lines, E'\n');
  scope_tenants text[] := string_to_array(scope_tenant_lines, E'\n');
  scopes text[] := string_to_array(scope_lines, E'\n');
  members text[] := string_to_array(member_lines, E'\n');
  requests text[] := string_to_array(request_lines, E'\n');
  loose_ids text[] := string_to_array(loose_lines, E'\n');
  heads text[] := string_to_array(head_lines, E'\n');
  kept_keys text[] := string_to_array(kept_key_lines, E'\n');
  now bigint;
  is_never_full boolean := true;
  project_nos int[]; scope_nos int[]; until_before bigint[]; counted_of boolean[];
  position_before bigint[]; position_of bigint[]; rules_of bigint[]; written_in boolean[]; kept_in bigint[]; seq_of bigint[]; swap_of bigint[]; shown_of boolean[];
  kept_of bigint[]; loose_known boolean[]; until_of bigint[]; live_of bigint[]; event_position bigint[];
  request_first bigint[]; request_events bigint[]; codes bigint[];
  reply text;
BEGIN
  reply := start_commit(batch);
  IF reply IS NOT NULL THEN RETURN reply; END IF;

  -- Locks projects first, then scopes, each in the order of their names, so that no deadlock occurs. Inserts only
  -- missing rows, because each attempt to insert a row uses up a number.
  INSERT INTO project (tenant_id, project_id)
  SELECT k.tenant_id, k.project_id FROM unnest(tenants, projects) AS k (tenant_id, project_id)
  WHERE NOT EXISTS (SELECT FROM project p WHERE p.tenant_id = k.tenant_id AND p.project_id = k.project_id)
  ORDER BY 1, 2 ON CONFLICT DO NOTHING;
  SELECT array_agg(p.project_no ORDER BY p.nr), array_agg(p.position ORDER BY p.nr), array_agg(p.rules_seq ORDER BY p.nr),
         max(p.last_ms)
  INTO project_nos, position_of, rules_of, now
  FROM (SELECT k.nr, p.* FROM unnest(tenants, projects) WITH ORDINALITY AS k (tenant_id, project_id, nr)
        JOIN project p ON p.tenant_id = k.tenant_id AND p.project_id = k.project_id
        ORDER BY p.tenant_id, p.project_id FOR NO KEY UPDATE OF p) AS p;
  IF cardinality(scopes) > 0 THEN
    INSERT INTO scope (tenant_id, scope)
    SELECT k.tenant_id, k.scope FROM unnest(scope_tenants, scopes) AS k (tenant_id, scope)
    WHERE NOT EXISTS (SELECT FROM scope s WHERE s.tenant_id = k.tenant_id AND s.scope = k.scope)
    ORDER BY 1, 2 ON CONFLICT DO NOTHING;
    SELECT array_agg(s.scope_no ORDER BY s.nr), array_agg(s.live ORDER BY s.nr) INTO scope_nos, live_of
    FROM (SELECT k.nr, s.scope_no, s.live
          FROM unnest(scope_tenants, scopes) WITH ORDINALITY AS k (tenant_id, scope, nr)
          JOIN scope s ON s.tenant_id = k.tenant_id AND s.scope = k.scope
          ORDER BY s.tenant_id, s.scope FOR NO KEY UPDATE OF s) AS s;
  END IF;

  -- The clock is read in a separate statement after the locks, so that `now` includes the wait for them.
  now := greatest(now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);

  -- Ended permits of a scope are removed when the scope might be full. Until then it counts too many rather than too few.
  FOR nr IN 1 .. cardinality(scopes) LOOP
    IF live_of[nr] + scope_takes[nr] > scope_max[nr] THEN
      live_of[nr] := live_of[nr] - remove_ended_permits(scope_tenants[nr], scope_nos[nr], now);
      is_never_full := false;
    END IF;
  END LOOP;

  SELECT array_agg(coalesce(h.seq, 0) ORDER BY k.nr) INTO seq_of
  FROM unnest(subject_project, subjects) WITH ORDINALITY AS k (project, subject, nr)
  LEFT JOIN head h ON h.project_no = project_nos[k.project] AND h.subject = k.subject;
  IF cardinality(requests) > 0 THEN
    SELECT array_agg(CASE WHEN r.key IS NULL THEN 0 ELSE -1 END ORDER BY k.nr) INTO kept_of
    FROM unnest(request_project, requests) WITH ORDINALITY AS k (project, key, nr)
    LEFT JOIN request r ON r.project_no = project_nos[k.project] AND r.key = k.key;
  END IF;
  IF cardinality(loose_ids) > 0 THEN
    SELECT array_agg(e.event_id IS NOT NULL ORDER BY k.nr) INTO loose_known
    FROM unnest(loose_project, loose_ids) WITH ORDINALITY AS k (project, event_id, nr)
    LEFT JOIN loose_event e ON e.project_no = project_nos[k.project] AND e.event_id = k.event_id;
  END IF;
  IF cardinality(members) > 0 THEN
    SELECT array_agg(coalesce(h.permit_until_ms, m.until_ms, 0) ORDER BY k.nr),
           array_agg(coalesce(h.is_counted, m.until_ms IS NOT NULL) ORDER BY k.nr)
    INTO until_of, counted_of
    FROM unnest(permit_project, permit_scope, permit_on_head, members) WITH ORDINALITY
         AS k (project, scope, on_head, member, nr)
    LEFT JOIN head h ON k.on_head AND h.project_no = project_nos[k.project] AND h.subject = k.member
                    AND h.permit_scope_no = scope_nos[k.scope]
    LEFT JOIN permit m ON NOT k.on_head AND m.scope_no = scope_nos[k.scope] AND m.project_no = project_nos[k.project]
                      AND m.member = k.member;
    -- An ended permit no longer counts. Below it is taken again, or marked as not counted.
    FOR nr IN 1 .. cardinality(members) LOOP
      IF counted_of[nr] AND until_of[nr] <= now THEN
        live_of[permit_scope[nr]] := live_of[permit_scope[nr]] - 1;
      END IF;
    END LOOP;
  END IF;

  until_before := until_of;
  position_before := position_of;
  SELECT d.* INTO position_of, rules_of, written_in, kept_in, seq_of, swap_of, shown_of, kept_of, loose_known,
                  until_of, live_of, event_position, request_first, request_events, codes
  FROM decide(script, now, is_never_full, permit_scope, position_of, rules_of,
              array_fill(false, ARRAY[cardinality(projects)]), array_fill(0::bigint, ARRAY[cardinality(projects)]),
              seq_of, array_fill(0::bigint, ARRAY[cardinality(subjects)]),
              array_fill(false, ARRAY[cardinality(subjects)]), kept_of, loose_known, until_of, live_of,
              array_fill(0::bigint, ARRAY[cardinality(event_at)]),
              array_fill(-1::bigint, ARRAY[cardinality(kept_keys)]),
              array_fill(0::bigint, ARRAY[cardinality(kept_keys)])) AS d;

  -- The heads and requests from before this batch that its conflicts and replays show.
  SELECT concat_ws(E'\n', now, array_to_string(codes, ' '), array_to_string(event_position, ' '), string_agg(line, E'\n'))
  INTO reply FROM (
    SELECT 'h ' || k.nr || ' ' || h.body AS line
    FROM unnest(subject_project, subjects, shown_of) WITH ORDINALITY AS k (project, subject, shown, nr)
    JOIN head h ON h.project_no = project_nos[k.project] AND h.subject = k.subject
    WHERE k.shown
    UNION ALL
    SELECT concat_ws(' ', 'r', k.nr, r.first_position, r.event_count, json_build_array(r.digest, r.reply))
    FROM unnest(request_project, requests, kept_of) WITH ORDINALITY AS k (project, key, kept, nr)
    JOIN request r ON r.project_no = project_nos[k.project] AND r.key = k.key
    WHERE k.kept = -1
  ) AS lines;
  IF NOT true = ANY (written_in) THEN RETURN reply; END IF;

  UPDATE project p SET position = k.position, rules_seq = k.rules_seq, written = true, last_ms = now,
                       requests = p.requests + k.kept
  FROM unnest(project_nos, position_of, rules_of, written_in, kept_in) AS k (project_no, position, rules_seq, written, kept)
  WHERE k.written AND p.project_no = k.project_no;

  INSERT INTO head AS h (project_no, subject, seq, body)
  SELECT project_nos[k.project], k.subject, k.seq, heads[k.swap]
  FROM unnest(subject_project, subjects, seq_of, swap_of) AS k (project, subject, seq, swap)
  WHERE k.swap > 0
  ON CONFLICT (project_no, subject) DO UPDATE SET seq = excluded.seq, body = excluded.body;

  INSERT INTO event (project_no, task_is_subject, position, at_ms, event_type, subject, task_id, feature_id, edge,
                     agent_id, session_id, body)
  SELECT project_nos[e.project], e.same_task, e.position, e.at_ms, e.event_type, e.subject, e.task_id, e.feature_id,
         e.edge, e.agent_id, e.session_id, e.body
  FROM unnest(event_project, event_same_task, event_position, event_at, string_to_array(event_type_lines, E'\n'),
              string_to_array(event_subject_lines, E'\n', ''),
              string_to_array(event_task_lines, E'\n', ''), string_to_array(event_feature_lines, E'\n', ''),
              string_to_array(event_edge_lines, E'\n', ''), string_to_array(event_agent_lines, E'\n', ''),
              string_to_array(event_session_lines, E'\n', ''), string_to_array(event_body_lines, E'\n'))
       AS e (project, same_task, position, at_ms, event_type, subject, task_id, feature_id, edge, agent_id, session_id,
             body)
  WHERE e.position > 0;
  FOR nr IN 1 .. cardinality(project_nos) LOOP
    PERFORM write_names(project_nos[nr], position_before[nr], position_of[nr]);
  END LOOP;

  IF cardinality(loose_ids) > 0 THEN
    INSERT INTO loose_event (project_no, event_id)
    SELECT project_nos[k.project], k.event_id
    FROM unnest(loose_project, loose_ids, loose_known) AS k (project, event_id, known)
    WHERE k.known ON CONFLICT DO NOTHING;
  END IF;

  INSERT INTO request (project_no, event_count, first_position, key, digest, reply)
  SELECT project_nos[k.project], k.events, k.first, k.key, k.digest, k.reply
  FROM unnest(kept_project, kept_keys, string_to_array(digest_lines, E'\n'), string_to_array(reply_lines, E'\n', ''),
              request_first, request_events)
       AS k (project, key, digest, reply, first, events)
  WHERE k.first >= 0;
  INSERT INTO kept_requests (project_no, at_ms, keys)
  SELECT project_nos[k.project], now, array_agg(k.key)
  FROM unnest(kept_project, kept_keys, request_first) AS k (project, key, first) WHERE k.first >= 0 GROUP BY 1;

  IF cardinality(members) > 0 THEN
    PERFORM write_permits(project_nos, scope_nos, permit_project, permit_scope, permit_on_head, members, until_before,
                          until_of, live_of, now);
  END IF;

  INSERT INTO batch (batch_id, at_ms, reply) VALUES (batch, now, reply);
  PERFORM forget(project_nos, kept_in, now);
  RETURN reply;
END $$;

-- name: start_commit
-- Locks a batch by its id, so that a repeated batch waits for the first attempt. Returns the reply if it was committed.
CREATE FUNCTION start_commit(batch uuid) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  -- Lets the owner pass row-level security, which is forced on the owner too.
  PERFORM set_config('genesis.commit', 'on', true);
  PERFORM pg_advisory_xact_lock(hashtextextended(batch::text, 0));
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  RETURN (SELECT b.reply FROM batch b WHERE b.batch_id = start_commit.batch);
END $$;

-- name: remove_ended_permits
-- Stops counting the ended permits of a scope, and returns how many these were. Permits on heads stay, because their
-- projects are due. The caller has locked the scope, which every writer of a permit on a head does first.
CREATE FUNCTION remove_ended_permits(tenant text, number int, now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  rows_removed bigint;
  heads_ended bigint;
BEGIN
  DELETE FROM permit m WHERE m.scope_no = number AND m.until_ms <= now;
  GET DIAGNOSTICS rows_removed = ROW_COUNT;
  UPDATE head h SET is_counted = false
  FROM project p
  WHERE p.tenant_id = tenant AND h.project_no = p.project_no AND h.has_permit AND h.permit_scope_no = number
    AND h.is_counted AND h.permit_until_ms <= now;
  GET DIAGNOSTICS heads_ended = ROW_COUNT;
  UPDATE scope s SET live = s.live - rows_removed - heads_ended WHERE s.tenant_id = tenant AND s.scope_no = number;
  RETURN rows_removed + heads_ended;
END $$;

-- name: write_permits
CREATE FUNCTION write_permits(
  project_nos int[], scope_nos int[],
  permit_project int[], permit_scope int[], permit_on_head boolean[], members text[],
  until_before bigint[], until_of bigint[],                            -- 0: released
  live_of bigint[],                                                    -- of each scope
  now bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM permit m
  USING unnest(permit_project, permit_scope, permit_on_head, members, until_before, until_of)
        AS k (project, scope, on_head, member, before, until_ms)
  WHERE NOT k.on_head AND k.before > 0 AND k.until_ms <= now
    AND m.scope_no = scope_nos[k.scope] AND m.project_no = project_nos[k.project] AND m.member = k.member;
  INSERT INTO permit AS m (scope_no, project_no, member, until_ms)
  SELECT scope_nos[k.scope], project_nos[k.project], k.member, k.until_ms
  FROM unnest(permit_project, permit_scope, permit_on_head, members, until_before, until_of)
       AS k (project, scope, on_head, member, before, until_ms)
  WHERE NOT k.on_head AND k.until_ms > now AND k.until_ms <> k.before
  ON CONFLICT (scope_no, project_no, member) DO UPDATE SET until_ms = excluded.until_ms;

  -- Releases come before takes, because a head may change its scope.
  UPDATE head h SET permit_scope_no = NULL, permit_until_ms = NULL, has_permit = false, is_counted = false
  FROM unnest(permit_project, permit_scope, permit_on_head, members, until_of) AS k (project, scope, on_head, member, until_ms)
  WHERE k.on_head AND k.until_ms = 0
    AND h.project_no = project_nos[k.project] AND h.subject = k.member AND h.permit_scope_no = scope_nos[k.scope];
  UPDATE head h SET permit_scope_no = scope_nos[k.scope], permit_until_ms = k.until_ms, has_permit = true,
                    is_counted = k.until_ms > now
  FROM unnest(permit_project, permit_scope, permit_on_head, members, until_before, until_of)
       AS k (project, scope, on_head, member, before, until_ms)
  WHERE k.on_head AND k.until_ms > 0 AND (k.until_ms <> k.before OR h.is_counted AND k.until_ms <= now)
    AND h.project_no = project_nos[k.project] AND h.subject = k.member;
  UPDATE project p SET due_ms = k.due_ms
  FROM (SELECT project_nos[k.project] AS project_no, min(k.until_ms) AS due_ms
        FROM unnest(permit_project, permit_on_head, until_of) AS k (project, on_head, until_ms)
        WHERE k.on_head AND k.until_ms > 0 GROUP BY 1) AS k
  WHERE p.project_no = k.project_no AND (p.due_ms IS NULL OR p.due_ms > k.due_ms);

  UPDATE scope s SET live = k.live
  FROM unnest(scope_nos, live_of) AS k (scope_no, live)
  WHERE s.scope_no = k.scope_no AND s.live <> k.live;
END $$;

-- name: commit_simple
-- Commits a simple batch with few statements: transactions of one project, in which a subject is swapped once at most, and
-- not checked if it is swapped, without loose events and without a change of rules. Writes nothing and returns null
-- if a transaction might have another outcome than `committed`: then `commit_batch` decides.
CREATE FUNCTION commit_simple(
  batch uuid, tenant text, project text,
  expected_rules bigint, not_before bigint, not_after bigint,          -- the strictest of all transactions
  scope_lines text, scope_takes int[], scope_max bigint[],
  subject_lines text, expected bigint[], seqs bigint[], head_lines text,  -- of each swap
  head_scope int, head_until bigint[],                                 -- the permit on its head: null none, 0 released
  check_lines text, check_seqs bigint[],
  permit_scope int[], member_lines text, permit_until bigint[],        -- the other permits
  request_lines text,                                                  -- the requests, those to keep first
  digest_lines text, reply_lines text, request_first int[], request_events int[],  -- of those to keep
  event_at bigint[], event_same_task boolean[], event_type_lines text, event_subject_lines text, event_task_lines text,
  event_feature_lines text, event_edge_lines text, event_agent_lines text, event_session_lines text,
  event_body_lines text,
  name_block int[], name_field int[], name_lines text                  -- of each name that occurs in a block of events
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  scopes text[] := string_to_array(scope_lines, E'\n');
  subjects text[] := string_to_array(subject_lines, E'\n');
  requests text[] := string_to_array(request_lines, E'\n');
  kept int := cardinality(request_first);
  events int := cardinality(event_at);
  p record;
  now bigint;
  scope_nos int[]; live_of bigint[];
  head_scope_no int;
  written bigint := 0; released bigint := 0; taken bigint; due bigint;
  reply text;
BEGIN
  reply := start_commit(batch);
  IF reply IS NOT NULL THEN RETURN reply; END IF;

  SELECT o.project_no, o.position, o.rules_seq, o.last_ms INTO p
  FROM project o WHERE o.tenant_id = tenant AND o.project_id = project FOR NO KEY UPDATE;
  IF p.project_no IS NULL OR expected_rules NOT IN (-1, p.rules_seq) THEN RETURN NULL; END IF;
  IF cardinality(scopes) > 0 THEN
    SELECT array_agg(s.scope_no ORDER BY s.nr), array_agg(s.live ORDER BY s.nr) INTO scope_nos, live_of
    FROM (SELECT k.nr, s.scope_no, s.live FROM unnest(scopes) WITH ORDINALITY AS k (scope, nr)
          JOIN scope s ON s.tenant_id = tenant AND s.scope = k.scope
          ORDER BY s.scope FOR NO KEY UPDATE OF s) AS s;
    IF scope_nos IS NULL OR cardinality(scope_nos) < cardinality(scopes) THEN RETURN NULL; END IF;
    FOR nr IN 1 .. cardinality(scopes) LOOP
      IF live_of[nr] + scope_takes[nr] > scope_max[nr] THEN RETURN NULL; END IF;
    END LOOP;
    head_scope_no := scope_nos[head_scope];
  END IF;
  -- The clock is read in a separate statement after the locks, so that `now` includes the wait for them.
  now := greatest(p.last_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  IF now < not_before OR now >= not_after THEN RETURN NULL; END IF;

  IF cardinality(check_seqs) > 0 AND EXISTS (
    SELECT FROM (SELECT p.project_no, unnest(string_to_array(check_lines, E'\n')) AS subject, unnest(check_seqs) AS seq) AS k
    LEFT JOIN head h ON h.project_no = k.project_no AND h.subject = k.subject
    WHERE coalesce(h.seq, 0) <> k.seq
  ) THEN RETURN NULL; END IF;
  -- Known requests among those to keep are found when they are written.
  IF cardinality(requests) > kept AND EXISTS (
    SELECT FROM (SELECT p.project_no, unnest(requests[kept + 1 :]) AS key) AS k
    WHERE EXISTS (SELECT FROM request r WHERE r.project_no = k.project_no AND r.key = k.key)
  ) THEN RETURN NULL; END IF;

  reply := concat_ws(' ', now, p.position, p.rules_seq);
  IF events + kept + cardinality(subjects) + cardinality(permit_scope) = 0 THEN RETURN reply; END IF;

  -- The writes detect a head that has moved or has a permit of another scope, and a known request: reading them first
  -- would cost about as much again. If one is found, everything that this block has written is undone.
  BEGIN
    IF 0 = ANY (expected) THEN
      INSERT INTO head (project_no, permit_scope_no, seq, permit_until_ms, has_permit, is_counted, subject, body)
      SELECT k.project_no, CASE WHEN k.until_ms > 0 THEN head_scope_no END, k.seq, nullif(k.until_ms, 0),
             coalesce(k.until_ms > 0, false), coalesce(k.until_ms > now, false), k.subject, k.body
      FROM (SELECT p.project_no, unnest(subjects) AS subject, unnest(expected) AS expected, unnest(seqs) AS seq,
                   unnest(string_to_array(head_lines, E'\n')) AS body, unnest(head_until) AS until_ms) AS k
      WHERE k.expected = 0;
      GET DIAGNOSTICS written = ROW_COUNT;
    END IF;
    IF 0 < ANY (expected) THEN
      WITH updated AS (
        UPDATE head h SET
          seq = k.seq, body = k.body,
          permit_scope_no = CASE WHEN k.until_ms IS NULL THEN h.permit_scope_no WHEN k.until_ms > 0 THEN head_scope_no END,
          permit_until_ms = CASE WHEN k.until_ms IS NULL THEN h.permit_until_ms ELSE nullif(k.until_ms, 0) END,
          has_permit = CASE WHEN k.until_ms IS NULL THEN h.has_permit ELSE k.until_ms > 0 END,
          is_counted = CASE WHEN k.until_ms IS NULL THEN h.is_counted ELSE k.until_ms > now END,
          was_counted = h.is_counted
        FROM (SELECT p.project_no, unnest(subjects) AS subject, unnest(expected) AS expected, unnest(seqs) AS seq,
                     unnest(string_to_array(head_lines, E'\n')) AS body, unnest(head_until) AS until_ms) AS k
        WHERE k.expected > 0 AND h.project_no = k.project_no AND h.subject = k.subject AND h.seq = k.expected
          AND coalesce(h.permit_scope_no = head_scope_no, true)
        RETURNING k.until_ms, h.was_counted
      )
      SELECT written + count(*), count(*) FILTER (WHERE u.until_ms IS NOT NULL AND u.was_counted) INTO written, released
      FROM updated u;
    END IF;
    IF written < cardinality(subjects) THEN RAISE SQLSTATE '${not_simple}'; END IF;
    IF kept > 0 THEN
      INSERT INTO request (project_no, event_count, first_position, key, digest, reply)
      SELECT p.project_no, unnest(request_events), p.position + unnest(request_first), unnest(requests[1:kept]),
             unnest(string_to_array(digest_lines, E'\n')), unnest(string_to_array(reply_lines, E'\n', ''));
    END IF;
  EXCEPTION WHEN unique_violation OR SQLSTATE '${not_simple}' THEN
    RETURN NULL;
  END;
  SELECT count(*) FILTER (WHERE k.until_ms > now), min(k.until_ms) FILTER (WHERE k.until_ms > 0) INTO taken, due
  FROM unnest(head_until) AS k (until_ms);
  IF head_scope > 0 THEN live_of[head_scope] := live_of[head_scope] + taken - released; END IF;

  UPDATE project o SET position = p.position + events, written = true, last_ms = now, requests = o.requests + kept,
                       due_ms = least(o.due_ms, due)
  WHERE o.project_no = p.project_no;
  IF events > 0 THEN
    INSERT INTO event (project_no, task_is_subject, position, at_ms, event_type, subject, task_id, feature_id, edge,
                       agent_id, session_id, body)
    SELECT p.project_no, unnest(event_same_task), generate_series(p.position + 1, p.position + events), unnest(event_at),
           unnest(string_to_array(event_type_lines, E'\n')), unnest(string_to_array(event_subject_lines, E'\n', '')),
           unnest(string_to_array(event_task_lines, E'\n', '')), unnest(string_to_array(event_feature_lines, E'\n', '')),
           unnest(string_to_array(event_edge_lines, E'\n', '')), unnest(string_to_array(event_agent_lines, E'\n', '')),
           unnest(string_to_array(event_session_lines, E'\n', '')), unnest(string_to_array(event_body_lines, E'\n'));
    INSERT INTO event_names (project_no, first_position, last_position, keys)
    SELECT p.project_no, k.first, least(k.first + ${block_events} - 1, p.position + events), array_agg(${key_of_line})
    FROM (SELECT p.position + 1 + ${block_events} * unnest(name_block) AS first, unnest(name_field) AS field,
                 unnest(string_to_array(name_lines, E'\n')) AS name) AS k
    GROUP BY k.first;
  END IF;
  IF kept > 0 THEN
    INSERT INTO kept_requests (project_no, at_ms, keys) VALUES (p.project_no, now, requests[1:kept]);
  END IF;
  IF cardinality(permit_scope) > 0 THEN
    live_of := write_simple_permits(p.project_no, scope_nos, permit_scope, string_to_array(member_lines, E'\n'),
                                    permit_until, live_of, now);
  END IF;
  UPDATE scope s SET live = k.live FROM unnest(scopes, live_of) AS k (scope, live)
  WHERE s.tenant_id = tenant AND s.scope = k.scope AND s.live <> k.live;

  INSERT INTO batch (batch_id, at_ms, reply) VALUES (batch, now, reply);
  PERFORM forget(ARRAY[p.project_no], ARRAY[kept::bigint], now);
  RETURN reply;
END $$;

-- name: write_names
-- Adds the names of a project's new events to `event_names`: the events after the position `after`, up to `last`.
CREATE FUNCTION write_names(number int, after bigint, last bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO event_names (project_no, first_position, last_position, keys)
  SELECT number, min(k.first), max(k.last), array_agg(DISTINCT k.key)
  FROM (
    SELECT b.first, least(b.first + ${block_events} - 1, last) AS last, unnest(${keys_of_event}) AS key
    FROM generate_series(after + 1, last, ${block_events}) AS b (first)
    JOIN event e ON e.project_no = number AND e.position >= b.first AND e.position < b.first + ${block_events}
  ) AS k
  WHERE k.key IS NOT NULL GROUP BY k.first;
END $$;

-- name: write_simple_permits
-- Writes the permits of `commit_simple` that are not on heads, and returns the number of live permits of each scope.
CREATE FUNCTION write_simple_permits(
  project int, scope_nos int[], permit_scope int[], members text[], permit_until bigint[], live_of bigint[], now bigint
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  change record;
BEGIN
  FOR change IN
    WITH removed AS (
      DELETE FROM permit m
      USING (SELECT project AS project_no, unnest(permit_scope) AS scope, unnest(members) AS member, unnest(permit_until) AS until_ms) AS k
      WHERE k.until_ms <= now AND m.scope_no = scope_nos[k.scope] AND m.project_no = k.project_no AND m.member = k.member
      RETURNING k.scope
    )
    SELECT r.scope, count(*) AS released FROM removed r GROUP BY r.scope
  LOOP
    live_of[change.scope] := live_of[change.scope] - change.released;
  END LOOP;
  FOR change IN
    WITH put AS (
      INSERT INTO permit AS m (scope_no, project_no, member, until_ms)
      SELECT scope_nos[k.scope], project, k.member, k.until_ms
      FROM (SELECT unnest(permit_scope) AS scope, unnest(members) AS member, unnest(permit_until) AS until_ms) AS k
      WHERE k.until_ms > now
      ON CONFLICT (scope_no, project_no, member) DO UPDATE SET until_ms = excluded.until_ms
      RETURNING m.scope_no, m.xmax = 0 AS is_new                       -- only an updated row has an xmax
    )
    SELECT array_position(scope_nos, p.scope_no) AS scope, count(*) AS taken FROM put p WHERE p.is_new GROUP BY p.scope_no
  LOOP
    live_of[change.scope] := live_of[change.scope] + change.taken;
  END LOOP;
  RETURN live_of;
END $$;

-- name: forget
-- Each batch deletes more expired rows than it adds, if there are that many, so that no call has to do a large cleanup.
CREATE FUNCTION forget(project_nos int[], kept bigint[], now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM batch b USING (
    SELECT o.batch_id FROM batch o WHERE o.at_ms < now - ${batch_window_ms} ORDER BY o.at_ms LIMIT 4
    FOR UPDATE SKIP LOCKED
  ) AS old WHERE b.batch_id = old.batch_id;
  FOR nr IN 1 .. cardinality(project_nos) LOOP
    IF kept[nr] > 0 THEN PERFORM forget_requests(project_nos[nr], 2 * kept[nr], now); END IF;
  END LOOP;
END $$;

-- name: forget_requests
-- Forgets the oldest requests of a project, batch by batch, if they are old enough or too many.
CREATE FUNCTION forget_requests(number int, enough bigint, now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  is_over boolean := (SELECT p.requests > ${requests_max} FROM project p WHERE p.project_no = number);
  deleted bigint := 0;
  oldest text[];
BEGIN
  WHILE deleted < enough LOOP
    DELETE FROM kept_requests r WHERE r.ctid = (
      SELECT o.ctid FROM kept_requests o
      WHERE o.project_no = number AND o.at_ms < CASE WHEN is_over THEN now ELSE now - ${request_window_ms} END
      ORDER BY o.at_ms LIMIT 1
    ) RETURNING r.keys INTO oldest;
    EXIT WHEN oldest IS NULL;
    DELETE FROM request r USING (SELECT number AS project_no, unnest(oldest) AS key) AS k
    WHERE r.project_no = k.project_no AND r.key = k.key;
    deleted := deleted + cardinality(oldest);
  END LOOP;
  IF deleted > 0 THEN UPDATE project p SET requests = p.requests - deleted WHERE p.project_no = number; END IF;
END $$;
