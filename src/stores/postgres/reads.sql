-- name: count_permits
-- The number of live permits in a scope, on heads and others, in all projects of the tenant that the transaction names.
CREATE FUNCTION count_permits(tenant text, name text, earliest_ms bigint)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  now bigint := greatest(earliest_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  number int;
BEGIN
  IF tenant IS DISTINCT FROM current_setting('genesis.tenant', true) THEN RETURN 0; END IF;
  -- Lets the owner pass row-level security, which is forced on the owner too.
  PERFORM set_config('genesis.commit', 'on', true);
  SELECT s.scope_no INTO number FROM scope s WHERE s.tenant_id = tenant AND s.scope = name;
  RETURN (SELECT count(*) FROM permit m WHERE m.scope_no = number AND m.until_ms > now)
    + (SELECT count(*) FROM project p JOIN head h ON h.project_no = p.project_no
       WHERE p.tenant_id = tenant AND h.has_permit AND h.permit_scope_no = number AND h.permit_until_ms > now);
END $$;

-- name: held_projects
-- The projects with a permit on a head, ended or not, in the order of their numbers. Looks into the index once per
-- project, and skips the heads between.
CREATE FUNCTION held_projects(after_tenant text, after_project text, max_count bigint)
RETURNS TABLE (tenant_id text, project_id text) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  number int;
BEGIN
  PERFORM set_config('genesis.commit', 'on', true);
  SELECT p.project_no INTO number FROM project p WHERE p.tenant_id = after_tenant AND p.project_id = after_project;
  number := coalesce(number, 0);
  FOR nr IN 1 .. max_count LOOP
    SELECT h.project_no INTO number FROM head h
    WHERE h.has_permit AND h.project_no > number ORDER BY h.project_no LIMIT 1;
    EXIT WHEN number IS NULL;
    RETURN QUERY SELECT p.tenant_id, p.project_id FROM project p WHERE p.project_no = number;
  END LOOP;
END $$;

-- name: tenants
-- The tenants with a project, by name.
CREATE FUNCTION tenants()
RETURNS TABLE (tenant_id text) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('genesis.commit', 'on', true);
  RETURN QUERY SELECT DISTINCT p.tenant_id FROM project p WHERE p.written ORDER BY p.tenant_id;
END $$;

-- name: due_projects
-- The projects with a permit on a head that has ended, the earliest first. Reads the projects whose bound has passed, a
-- page at a time in the order of the bounds, and makes their bounds exact. Stops when `max_count` exact ends are not
-- later than the last bound read: no project that follows can end earlier. A project that a commit has locked or
-- changed meanwhile keeps its bound, so nothing waits.
CREATE FUNCTION due_projects(earliest_ms bigint, max_count bigint)
RETURNS TABLE (tenant_id text, project_id text) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  now bigint := greatest(earliest_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  after_ms bigint := -1;
  after_no int := 0;
  projects int[] := '{}'; ends bigint[] := '{}';
  page_rows tid[]; page_projects int[]; page_bounds bigint[]; page_ends bigint[];
BEGIN
  PERFORM set_config('genesis.commit', 'on', true);
  LOOP
    SELECT array_agg(p.row_id), array_agg(p.project_no), array_agg(p.due_ms), array_agg(p.end_ms)
    INTO page_rows, page_projects, page_bounds, page_ends
    FROM (SELECT p.ctid AS row_id, p.project_no, p.due_ms,
                 (SELECT min(h.permit_until_ms) FROM head h WHERE h.project_no = p.project_no AND h.has_permit) AS end_ms
          FROM project p WHERE p.due_ms <= now AND (p.due_ms, p.project_no) > (after_ms, after_no)
          ORDER BY p.due_ms, p.project_no LIMIT ${page}) AS p;
    EXIT WHEN page_rows IS NULL;
    UPDATE project p SET due_ms = k.end_ms
    FROM (SELECT o.project_no, k.end_ms
          FROM unnest(page_rows, page_projects, page_ends) AS k (row_id, project_no, end_ms)
          JOIN project o ON o.project_no = k.project_no AND o.ctid = k.row_id
          WHERE o.due_ms IS DISTINCT FROM k.end_ms
          FOR NO KEY UPDATE OF o SKIP LOCKED) AS k
    WHERE p.project_no = k.project_no;
    SELECT projects || array_agg(k.project_no), ends || array_agg(k.end_ms) INTO projects, ends
    FROM unnest(page_projects, page_ends) AS k (project_no, end_ms) WHERE k.end_ms <= now;
    after_ms := page_bounds[cardinality(page_bounds)];
    after_no := page_projects[cardinality(page_projects)];
    EXIT WHEN (SELECT count(*) FROM unnest(ends) AS k (end_ms) WHERE k.end_ms <= after_ms) >= max_count;
  END LOOP;
  RETURN QUERY SELECT p.tenant_id, p.project_id
    FROM (SELECT k.project_no, min(k.end_ms) AS end_ms FROM unnest(projects, ends) AS k (project_no, end_ms) GROUP BY 1) AS k
    JOIN project p ON p.project_no = k.project_no
    ORDER BY k.end_ms, p.project_no LIMIT max_count;
END $$;

-- name: redact_events
-- Retention: replaces the bodies of existing events with reduced ones.
CREATE FUNCTION redact_events(tenant text, project text, positions bigint[], bodies text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM set_config('genesis.commit', 'on', true);
  UPDATE event e SET body = k.body
  FROM unnest(positions, bodies) AS k (position, body)
  WHERE e.project_no = (SELECT p.project_no FROM project p WHERE p.tenant_id = tenant AND p.project_id = project)
    AND e.position = k.position;
END $$;

-- name: events_named
-- The events that match a query and have one of these names in a field, in order, for the tenant and the project that the
-- transaction names. Looks up the blocks of one epoch of positions (EPOCH_BITS in event-names.ts), then of more epochs at
-- a time, and reads the events.
CREATE FUNCTION events_named(
  tenant text, project text, after bigint, until_position bigint, max_count bigint,
  field int, names text[],
  types text[], subject_name text, task text, feature text, edge_name text, agent text, session text,
  since_ms bigint, until_ms bigint
) RETURNS SETOF event LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  number int;
  last bigint;
  at bigint := greatest(after, 0);         -- read up to here
  until_at bigint;                         -- the next part ends here
  epochs int := 1;
  firsts bigint[]; lasts bigint[];         -- of the blocks in the next part
  nr int;
  missing bigint := max_count;
  returned bigint;
BEGIN
  IF (tenant, project) IS DISTINCT FROM
     (current_setting('genesis.tenant', true), current_setting('genesis.project', true)) THEN RETURN; END IF;
  -- Lets the owner pass row-level security, which is forced on the owner too.
  PERFORM set_config('genesis.commit', 'on', true);
  SELECT p.project_no, least(p.position, until_position) INTO number, last FROM project p
  WHERE p.tenant_id = tenant AND p.project_id = project;
  WHILE at < last AND missing > 0 LOOP
    IF last - at <= ${tail_events} THEN
      until_at := last;
      firsts := ARRAY[at + 1]; lasts := ARRAY[last];
    ELSE
      until_at := least(last, ((((at + 1) >> ${epoch_bits}) + epochs) << ${epoch_bits}) - 1);
      SELECT array_agg(n.first_position ORDER BY n.first_position), array_agg(n.last_position ORDER BY n.first_position)
      INTO firsts, lasts FROM event_names n
      WHERE n.keys && (SELECT array_agg(${key_of_name})
                       FROM generate_series((at + 2 - ${block_events}) >> ${epoch_bits}, until_at >> ${epoch_bits}) AS o (epoch),
                            unnest(names) AS k (name))
        AND n.project_no = number AND n.last_position > at AND n.first_position <= until_at;
      epochs := least(epochs * 4, 64);
    END IF;
    nr := 1;
    WHILE nr <= cardinality(firsts) AND missing > 0 LOOP
      RETURN QUERY
        SELECT e.*
        FROM (SELECT number AS project_no, unnest(firsts[nr : nr + 15]) AS first, unnest(lasts[nr : nr + 15]) AS last) AS b
        JOIN event e ON e.project_no = b.project_no AND e.position >= b.first AND e.position <= b.last
        WHERE e.position > at AND e.position <= until_at
          AND (types IS NULL OR e.event_type = ANY (types)) AND (subject_name IS NULL OR e.subject = subject_name)
          AND (task IS NULL OR e.task_id = task) AND (feature IS NULL OR e.feature_id = feature)
          AND (edge_name IS NULL OR e.edge = edge_name) AND (agent IS NULL OR e.agent_id = agent)
          AND (session IS NULL OR e.session_id = session)
          AND (since_ms IS NULL OR e.at_ms >= since_ms) AND (until_ms IS NULL OR e.at_ms < until_ms)
        ORDER BY e.position LIMIT missing;
      GET DIAGNOSTICS returned = ROW_COUNT;
      missing := missing - returned;
      nr := nr + 16;
    END LOOP;
    at := until_at;
  END LOOP;
END $$;
