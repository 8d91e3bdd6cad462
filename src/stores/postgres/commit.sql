-- name: decide
-- The rules of a transaction (`ProjectLedger.apply`) on numbers alone. The state that a batch concerns is loaded into
-- arrays and written back from them, so that a batch takes a few statements however many transactions it has.
--
-- `script` holds one transaction after the other:
--   project, rules_seq or -1, changes_rules, not_before, not_after, has_effect,
--   the number of swaps, checks, requests, loose events, permits, limits and events of swaps, then these:
--   swap: subject, expected_seq, events   check: subject, expected_seq   request: request, keep
--   loose event: its number               permit: place, until           limit: scope, max
-- `told` replies in the same order, each transaction with its kind (OUTCOME_CODE in batch.ts) and
--   committed: rules_seq; the positions of its events are in `event_position`, 0 for a loose event that existed
--   conflict: rules_seq, then for each swap and check the swap of this batch that made its head, 0 for none
--   replay: request, and the request of this batch that was kept under that key, -1 for none   full: scope
CREATE FUNCTION decide(
  script bigint[],
  now_ms bigint,
  has_room boolean,                   -- no room can be full in this batch
  scope_of_place int[],
  INOUT position_of bigint[],         -- by project
  INOUT rules_of bigint[],            -- by project
  INOUT written_in boolean[],         -- by project: whether this batch changed anything
  INOUT kept_in bigint[],             -- by project: requests that this batch keeps
  INOUT seq_of bigint[],              -- by subject
  INOUT swap_of bigint[],             -- by subject: the last swap that moved it, 0 for none
  INOUT shown_of boolean[],           -- by subject: whether a conflict shows its head
  INOUT kept_of bigint[],             -- by distinct request: 0 unknown, -1 in the table, else the request that was kept
  INOUT note_known boolean[],         -- by distinct note
  INOUT until_of bigint[],            -- by place
  INOUT live_of bigint[],             -- by scope
  INOUT event_position bigint[],      -- by event, 0 for one that is not written
  INOUT request_first bigint[],       -- by request: its unit's first position, -1 for one that is not kept
  INOUT request_events bigint[],      -- by request: how many events its unit has
  OUT told bigint[]
) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  -- Of one type, for a cast at each assignment costs more than the assignment.
  at bigint := 1;                     -- where in the script
  event bigint := 0;                  -- events, swaps and requests before this unit's
  swap bigint := 0;
  request bigint := 0;
  project bigint; kind bigint; first bigint; number bigint; scope bigint; i bigint; j bigint;
  checks_at bigint; requests_at bigint; notes_at bigint; slots_at bigint; rooms_at bigint; next_at bigint;
  added bigint; freed bigint;
BEGIN
  told := '{}';
  WHILE at <= cardinality(script) LOOP
    project := script[at];
    checks_at := at + 13 + 3 * script[at + 6];
    requests_at := checks_at + 2 * script[at + 7];
    notes_at := requests_at + 2 * script[at + 8];
    slots_at := notes_at + script[at + 9];
    rooms_at := slots_at + 2 * script[at + 10];
    next_at := rooms_at + 2 * script[at + 11];
    kind := ${committed};

    -- A request that is known
    i := requests_at;
    WHILE i < notes_at LOOP
      number := script[i];
      IF kept_of[number] <> 0 THEN
        kind := ${replay};
        told := told || kind; told := told || number; told := told || kept_of[number];
        EXIT;
      END IF;
      i := i + 2;
    END LOOP;

    -- Rules or heads that have moved; time; room
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
        told := told || kind; told := told || rules_of[project];
        i := at + 13;
        WHILE i < requests_at LOOP
          shown_of[script[i]] := true; told := told || swap_of[script[i]];
          i := i + CASE WHEN i < checks_at THEN 3 ELSE 2 END;
        END LOOP;
      ELSIF now_ms < script[at + 3] THEN
        kind := ${early}; told := told || kind;
      ELSIF now_ms >= script[at + 4] THEN
        kind := ${late}; told := told || kind;
      ELSIF NOT has_room THEN
        i := rooms_at;
        WHILE i < next_at LOOP
          scope := script[i];
          IF live_of[scope] + script[at + 10] > script[i + 1] THEN
            added := 0; freed := 0; j := slots_at;
            WHILE j < rooms_at LOOP
              number := script[j];
              IF scope_of_place[number] = scope THEN
                IF script[j + 1] > now_ms AND until_of[number] <= now_ms THEN added := added + 1; END IF;
                IF script[j + 1] <= now_ms AND until_of[number] > now_ms THEN freed := freed + 1; END IF;
              END IF;
              j := j + 2;
            END LOOP;
            IF added > 0 AND live_of[scope] + added - freed > script[i + 1] THEN
              kind := ${full}; told := told || kind; told := told || scope;
              EXIT;
            END IF;
          END IF;
          i := i + 2;
        END LOOP;
      END IF;
    END IF;

    -- Nothing stands against it
    IF kind = ${committed} THEN
      IF script[at + 2] = 1 THEN rules_of[project] := rules_of[project] + 1; END IF;
      IF script[at + 5] = 1 THEN written_in[project] := true; END IF;
      told := told || kind; told := told || rules_of[project];
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
      i := notes_at;
      WHILE i < slots_at LOOP
        event := event + 1;
        IF NOT note_known[script[i]] THEN
          note_known[script[i]] := true; event_position[event] := number;
          number := number + 1;
        END IF;
        i := i + 1;
      END LOOP;
      position_of[project] := number - 1;
      i := requests_at;
      WHILE i < notes_at LOOP
        request := request + 1;
        IF script[i + 1] = 1 THEN
          kept_of[script[i]] := request; kept_in[project] := kept_in[project] + 1;
          request_first[request] := first; request_events[request] := number - first;
        END IF;
        i := i + 2;
      END LOOP;
      i := slots_at;
      WHILE i < rooms_at LOOP
        number := script[i];
        IF (script[i + 1] > now_ms) <> (until_of[number] > now_ms) THEN
          scope := scope_of_place[number];
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
-- Commits one batch in one call: lock, read the clock, load, decide, write. Lists of names and of JSON are passed as
-- lines, since neither contains a line feed; repeated values are numbered 1, 2, 3 …
CREATE FUNCTION commit_batch(
  batch uuid,
  script bigint[],
  tenant_lines text, project_lines text,                               -- the projects
  subject_project int[], subject_lines text,                           -- the subjects
  scope_tenant_lines text, scope_lines text, scope_takes int[], scope_max bigint[],
  place_project int[], place_scope int[], member_lines text,           -- the places
  request_project int[], request_lines text,                           -- the distinct requests
  note_project int[], note_lines text,                                 -- the distinct notes
  head_lines text,                                                     -- of each swap
  kept_project int[], kept_key_lines text, kept_body_lines text,       -- of each request
  event_project int[], event_at bigint[], event_type_lines text, event_subject_lines text,
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
  notes text[] := string_to_array(note_lines, E'\n');
  heads text[] := string_to_array(head_lines, E'\n');
  kept_keys text[] := string_to_array(kept_key_lines, E'\n');
  kept_bodies text[] := string_to_array(kept_body_lines, E'\n');
  now bigint;
  gone bigint;
  has_room boolean := true;
  until_before bigint[];
  position_of bigint[]; rules_of bigint[]; written_in boolean[]; kept_in bigint[]; seq_of bigint[]; swap_of bigint[]; shown_of boolean[];
  kept_of bigint[]; note_known boolean[]; until_of bigint[]; live_of bigint[]; event_position bigint[];
  request_first bigint[]; request_events bigint[]; told bigint[];
  answer text;
BEGIN
  -- What lets the owner past row-level security, which is forced on it too.
  PERFORM set_config('genesis.commit', 'on', true);

  -- A batch that is sent again waits for itself, and is answered as it was.
  PERFORM pg_advisory_xact_lock(hashtextextended(batch::text, 0));
  SELECT b.answer INTO answer FROM batch b WHERE b.batch_id = batch;
  IF FOUND THEN RETURN answer; END IF;
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;

  -- Projects first, then scopes, each in the order of their names: nobody waits in a circle.
  INSERT INTO project (tenant_id, project_id)
  SELECT p.tenant_id, p.project_id FROM unnest(tenants, projects) AS p (tenant_id, project_id)
  ORDER BY 1, 2 ON CONFLICT DO NOTHING;
  SELECT array_agg(p.position ORDER BY p.nr), array_agg(p.rules_seq ORDER BY p.nr), max(p.last_ms)
  INTO position_of, rules_of, now
  FROM (SELECT k.nr, p.* FROM unnest(tenants, projects) WITH ORDINALITY AS k (tenant_id, project_id, nr)
        JOIN project p ON p.tenant_id = k.tenant_id AND p.project_id = k.project_id
        ORDER BY p.tenant_id, p.project_id FOR NO KEY UPDATE OF p) AS p;
  IF cardinality(scopes) > 0 THEN
    INSERT INTO scope (tenant_id, scope)
    SELECT s.tenant_id, s.scope FROM unnest(scope_tenants, scopes) AS s (tenant_id, scope)
    ORDER BY 1, 2 ON CONFLICT DO NOTHING;
    SELECT array_agg(s.live ORDER BY s.nr) INTO live_of
    FROM (SELECT k.nr, s.live FROM unnest(scope_tenants, scopes) WITH ORDINALITY AS k (tenant_id, scope, nr)
          JOIN scope s ON s.tenant_id = k.tenant_id AND s.scope = k.scope
          ORDER BY s.tenant_id, s.scope FOR NO KEY UPDATE OF s) AS s;
  END IF;

  -- In a statement of its own, after the locks: the time a lock was waited for must show.
  now := greatest(now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);

  -- A scope is rid of what has run out when it might be full; until then it counts too many rather than too few.
  FOR nr IN 1 .. cardinality(scopes) LOOP
    IF live_of[nr] + scope_takes[nr] > scope_max[nr] THEN
      DELETE FROM slot s WHERE s.tenant_id = scope_tenants[nr] AND s.scope = scopes[nr] AND s.until_ms <= now;
      GET DIAGNOSTICS gone = ROW_COUNT;
      live_of[nr] := live_of[nr] - gone;
      UPDATE scope s SET live = live_of[nr] WHERE s.tenant_id = scope_tenants[nr] AND s.scope = scopes[nr];
      has_room := false;
    END IF;
  END LOOP;

  SELECT array_agg(coalesce(h.seq, 0) ORDER BY k.nr) INTO seq_of
  FROM unnest(subject_project, subjects) WITH ORDINALITY AS k (project, subject, nr)
  LEFT JOIN head h ON h.tenant_id = tenants[k.project] AND h.project_id = projects[k.project]
                  AND h.subject = k.subject;
  IF cardinality(requests) > 0 THEN
    SELECT array_agg(CASE WHEN r.key IS NULL THEN 0 ELSE -1 END ORDER BY k.nr) INTO kept_of
    FROM unnest(request_project, requests) WITH ORDINALITY AS k (project, key, nr)
    LEFT JOIN request r ON r.tenant_id = tenants[k.project] AND r.project_id = projects[k.project]
                       AND r.key = k.key;
  END IF;
  IF cardinality(notes) > 0 THEN
    SELECT array_agg(n.event_id IS NOT NULL ORDER BY k.nr) INTO note_known
    FROM unnest(note_project, notes) WITH ORDINALITY AS k (project, event_id, nr)
    LEFT JOIN note n ON n.tenant_id = tenants[k.project] AND n.project_id = projects[k.project]
                    AND n.event_id = k.event_id;
  END IF;
  IF cardinality(members) > 0 THEN
    SELECT array_agg(coalesce(s.until_ms, 0) ORDER BY k.nr) INTO until_of
    FROM unnest(place_project, place_scope, members) WITH ORDINALITY AS k (project, scope, member, nr)
    LEFT JOIN slot s ON s.tenant_id = tenants[k.project] AND s.scope = scopes[k.scope]
                    AND s.project_id = projects[k.project] AND s.member = k.member;
    -- What ran out counts no more; it is taken again or removed below.
    FOR nr IN 1 .. cardinality(members) LOOP
      IF until_of[nr] BETWEEN 1 AND now THEN live_of[place_scope[nr]] := live_of[place_scope[nr]] - 1; END IF;
    END LOOP;
  END IF;

  until_before := until_of;
  SELECT d.* INTO position_of, rules_of, written_in, kept_in, seq_of, swap_of, shown_of, kept_of, note_known,
                  until_of, live_of, event_position, request_first, request_events, told
  FROM decide(script, now, has_room, place_scope, position_of, rules_of,
              array_fill(false, ARRAY[cardinality(projects)]), array_fill(0::bigint, ARRAY[cardinality(projects)]),
              seq_of, array_fill(0::bigint, ARRAY[cardinality(subjects)]),
              array_fill(false, ARRAY[cardinality(subjects)]), kept_of, note_known, until_of, live_of,
              array_fill(0::bigint, ARRAY[cardinality(event_at)]),
              array_fill(-1::bigint, ARRAY[cardinality(kept_keys)]),
              array_fill(0::bigint, ARRAY[cardinality(kept_keys)])) AS d;

  -- What a conflict or a replay shows of the time before this batch.
  SELECT concat_ws(E'\n', now, array_to_string(told, ' '), array_to_string(event_position, ' '), string_agg(line, E'\n')) INTO answer FROM (
    SELECT 'h ' || k.nr || ' ' || h.body AS line
    FROM unnest(subject_project, subjects, shown_of) WITH ORDINALITY AS k (project, subject, shown, nr)
    JOIN head h ON h.tenant_id = tenants[k.project] AND h.project_id = projects[k.project] AND h.subject = k.subject
    WHERE k.shown
    UNION ALL
    SELECT concat_ws(' ', 'r', k.nr, r.first_position, r.events, r.body)
    FROM unnest(request_project, requests, kept_of) WITH ORDINALITY AS k (project, key, kept, nr)
    JOIN request r ON r.tenant_id = tenants[k.project] AND r.project_id = projects[k.project] AND r.key = k.key
    WHERE k.kept = -1
  ) AS lines;
  IF NOT true = ANY (written_in) THEN RETURN answer; END IF;

  UPDATE project p SET position = k.position, rules_seq = k.rules_seq, written = true, last_ms = now,
                       requests = p.requests + k.kept
  FROM unnest(tenants, projects, position_of, rules_of, written_in, kept_in)
       AS k (tenant_id, project_id, position, rules_seq, written, kept)
  WHERE k.written AND p.tenant_id = k.tenant_id AND p.project_id = k.project_id;

  INSERT INTO head AS h (tenant_id, project_id, subject, seq, body)
  SELECT tenants[k.project], projects[k.project], k.subject, k.seq, heads[k.swap]
  FROM unnest(subject_project, subjects, seq_of, swap_of) AS k (project, subject, seq, swap)
  WHERE k.swap > 0
  ON CONFLICT (tenant_id, project_id, subject) DO UPDATE SET seq = excluded.seq, body = excluded.body;

  INSERT INTO event (tenant_id, project_id, position, at_ms, event_type, subject, task_id, feature_id, edge,
                     agent_id, session_id, body)
  SELECT tenants[e.project], projects[e.project], e.position, e.at_ms, e.event_type, e.subject, e.task_id,
         e.feature_id, e.edge, e.agent_id, e.session_id, e.body
  FROM unnest(event_project, event_position, event_at, string_to_array(event_type_lines, E'\n'),
              string_to_array(event_subject_lines, E'\n', ''),
              string_to_array(event_task_lines, E'\n', ''), string_to_array(event_feature_lines, E'\n', ''),
              string_to_array(event_edge_lines, E'\n', ''), string_to_array(event_agent_lines, E'\n', ''),
              string_to_array(event_session_lines, E'\n', ''), string_to_array(event_body_lines, E'\n'))
       AS e (project, position, at_ms, event_type, subject, task_id, feature_id, edge, agent_id, session_id,
             body)
  WHERE e.position > 0;

  IF cardinality(notes) > 0 THEN
    INSERT INTO note (tenant_id, project_id, event_id)
    SELECT tenants[n.project], projects[n.project], n.event_id
    FROM unnest(note_project, notes, note_known) AS n (project, event_id, known)
    WHERE n.known ON CONFLICT DO NOTHING;
  END IF;

  INSERT INTO request (tenant_id, project_id, key, at_ms, first_position, events, body)
  SELECT tenants[r.project], projects[r.project], r.key, now, r.first, r.events, r.body
  FROM unnest(kept_project, kept_keys, kept_bodies, request_first, request_events)
       AS r (project, key, body, first, events)
  WHERE r.first >= 0;

  IF cardinality(members) > 0 THEN
    DELETE FROM slot s
    USING unnest(place_project, place_scope, members, until_before, until_of)
          AS k (project, scope, member, before, until_ms)
    WHERE k.before > 0 AND k.until_ms <= now
      AND s.tenant_id = tenants[k.project] AND s.scope = scopes[k.scope]
      AND s.project_id = projects[k.project] AND s.member = k.member;
    INSERT INTO slot AS s (tenant_id, scope, project_id, member, until_ms)
    SELECT tenants[k.project], scopes[k.scope], projects[k.project], k.member, k.until_ms
    FROM unnest(place_project, place_scope, members, until_before, until_of)
         AS k (project, scope, member, before, until_ms)
    WHERE k.until_ms > now AND k.until_ms <> k.before
    ON CONFLICT (tenant_id, scope, project_id, member) DO UPDATE SET until_ms = excluded.until_ms;
    UPDATE scope s SET live = k.live
    FROM unnest(scope_tenants, scopes, live_of) AS k (tenant_id, scope, live)
    WHERE s.tenant_id = k.tenant_id AND s.scope = k.scope AND s.live <> k.live;
  END IF;

  INSERT INTO batch (batch_id, at_ms, answer) VALUES (batch, now, answer);
  PERFORM forget(tenants, projects, now, kept_in);
  RETURN answer;
END $$;

-- name: forget
-- Each batch deletes slightly more expired rows than it adds, so that no call has to do a large cleanup.
CREATE FUNCTION forget(tenants text[], projects text[], now bigint, kept bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  gone bigint;
  too_many boolean;
BEGIN
  DELETE FROM batch b USING (
    SELECT o.batch_id FROM batch o WHERE o.at_ms < now - ${batch_window_ms} ORDER BY o.at_ms LIMIT 4
    FOR UPDATE SKIP LOCKED
  ) AS old WHERE b.batch_id = old.batch_id;
  FOR nr IN 1 .. cardinality(tenants) LOOP
    CONTINUE WHEN kept[nr] = 0;
    SELECT p.requests > ${requests_max} INTO too_many FROM project p
    WHERE p.tenant_id = tenants[nr] AND p.project_id = projects[nr];
    DELETE FROM request r WHERE r.ctid = ANY (ARRAY(
      SELECT o.ctid FROM request o
      WHERE o.tenant_id || '/' || o.project_id = tenants[nr] || '/' || projects[nr]
        AND o.at_ms < CASE WHEN too_many THEN now ELSE now - ${request_window_ms} END
      ORDER BY o.at_ms LIMIT 2 * kept[nr]
    ));
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF gone > 0 THEN
      UPDATE project p SET requests = p.requests - gone
      WHERE p.tenant_id = tenants[nr] AND p.project_id = projects[nr];
    END IF;
  END LOOP;
END $$;
