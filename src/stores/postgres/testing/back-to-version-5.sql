-- Turns a schema of version 6 into one of version 5, for the test of the migration. The functions have no content.
SET search_path = ${namespace}, pg_temp;
DELETE FROM migration WHERE version > 5;
DROP TABLE event_names;
ALTER TABLE head DROP COLUMN was_counted;
CREATE INDEX event_by_type ON event (project_no, event_type, position);
CREATE INDEX event_by_task ON event (project_no, task_id, position) WHERE task_id IS NOT NULL;
CREATE INDEX event_by_feature ON event (project_no, feature_id, position) WHERE feature_id IS NOT NULL;
CREATE INDEX event_by_edge ON event (project_no, edge, position) WHERE edge IS NOT NULL;
CREATE INDEX event_by_agent ON event (project_no, agent_id, position) WHERE agent_id IS NOT NULL;
CREATE INDEX event_by_session ON event (project_no, session_id, position) WHERE session_id IS NOT NULL;
DROP FUNCTION write_names, events_named, write_simple_permits, commit_simple;
CREATE FUNCTION write_simple_permits(project int) RETURNS bigint[] LANGUAGE sql AS 'SELECT NULL::bigint[]';
CREATE FUNCTION commit_simple(batch uuid, tenant text) RETURNS text LANGUAGE sql AS 'SELECT NULL::text';
