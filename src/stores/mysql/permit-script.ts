import { NAME_BYTES_MAX } from './name-encoding.js';

const NAME = `VARBINARY(${NAME_BYTES_MAX})`;
const TEXT = 'LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

const SCOPES = `JSON_TABLE(p_scopes, '$[*]' COLUMNS (
      scope ${NAME} PATH '$[0]', takes BIGINT PATH '$[1]', room BIGINT PATH '$[2]'))`;
const SLOT = `scope ${NAME} PATH '$[0]', member ${NAME} PATH '$[1]', until_ms BIGINT PATH '$[2]'`;
const SLOTS_OF_ONE = `JSON_TABLE(v_one, '$[1][*]' COLUMNS (${SLOT}))`;
const LIMITS_OF_ONE = `JSON_TABLE(v_rooms, '$[*]' COLUMNS (
            number FOR ORDINALITY, scope ${NAME} PATH '$[0]', room BIGINT PATH '$[1]'))`;

const HELD_PERMIT =
  'p.tenant_id = p_tenant AND p.scope = j.scope AND p.project_id = p_project AND p.member = j.member';
const WAS_LIVE = 'COALESCE(p.until_ms > p_now, 0)';
const IS_LIVE = '(j.until_ms > p_now)';

const updateScopes = (column: string, value: string): string => `
    UPDATE scopes c JOIN ${SCOPES} s ON s.scope = c.scope SET c.${column} = ${value}
    WHERE c.tenant_id = p_tenant;`;

/**
 * Counts the permits of scopes and deletes expired ones. Between counts, a scope knows only an upper bound: every
 * permit taken since the last count, expired or not.
 */
export const COUNT_PERMITS = `CREATE PROCEDURE count_places(p_tenant VARBINARY(128), p_now BIGINT, p_scopes JSON)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DELETE p FROM ${SCOPES} s STRAIGHT_JOIN places p ON p.tenant_id = p_tenant AND p.scope = s.scope
  WHERE p.until_ms <= p_now;
  ${updateScopes('counted', '(SELECT COUNT(*) FROM places p WHERE p.tenant_id = p_tenant AND p.scope = c.scope)')}
  ${updateScopes('live_at_most', 'c.counted + s.takes')}
END`;

/**
 * For scopes just counted that have fewer free permits than the run takes: takes them transaction by transaction until
 * the scope is full.
 */
export const TAKE_PERMITS_IN_TURN = `CREATE PROCEDURE take_places_in_turn(
  p_tenant VARBINARY(128), p_project VARBINARY(128), p_now BIGINT, p_scopes JSON, p_slots JSON, p_rooms JSON,
  INOUT p_out ${TEXT}, INOUT p_refused ${TEXT}, INOUT p_wrote INT
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_next, v_unit INT DEFAULT 0;
  DECLARE v_one, v_rooms ${TEXT};
  DECLARE v_full ${NAME};

  ${updateScopes('live_at_most', 'c.counted')}
  WHILE v_next < JSON_LENGTH(p_slots) DO
    SET v_one = JSON_EXTRACT(p_slots, CONCAT('$[', v_next, ']'));
    SET v_rooms = JSON_EXTRACT(p_rooms, CONCAT('$[', v_next, ']'));
    SET v_unit = JSON_EXTRACT(v_one, '$[0]');
    SET v_next = v_next + 1;
    IF NOT FIND_IN_SET(v_unit, p_out) THEN
      SET v_full = (
        SELECT r.scope FROM ${LIMITS_OF_ONE} r
        STRAIGHT_JOIN scopes c ON c.tenant_id = p_tenant AND c.scope = r.scope
        STRAIGHT_JOIN ${SLOTS_OF_ONE} j ON j.scope = r.scope
        LEFT JOIN places p ON ${HELD_PERMIT}
        GROUP BY r.number, r.scope, r.room, c.live_at_most
        HAVING SUM(${IS_LIVE} > ${WAS_LIVE}) > 0 AND c.live_at_most + SUM(${IS_LIVE}) - SUM(${WAS_LIVE}) > r.room
        ORDER BY r.number LIMIT 1);
      IF v_full IS NULL THEN
        UPDATE scopes c SET c.live_at_most = c.live_at_most + (
          SELECT COALESCE(SUM(${IS_LIVE}) - SUM(${WAS_LIVE}), 0) FROM ${SLOTS_OF_ONE} j
          LEFT JOIN places p ON ${HELD_PERMIT} WHERE j.scope = c.scope)
        WHERE c.tenant_id = p_tenant AND c.scope IN (SELECT j.scope FROM ${SLOTS_OF_ONE} j);
        INSERT INTO places (tenant_id, scope, project_id, member, until_ms)
        SELECT p_tenant, j.scope, p_project, j.member, j.until_ms FROM ${SLOTS_OF_ONE} j
        ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms);
        SET p_wrote = p_wrote + ROW_COUNT();
      ELSE
        SET p_out = CONCAT_WS(',', NULLIF(p_out, ''), v_unit);
        SET p_refused = JSON_SET(p_refused, CONCAT('$."', v_unit, '"'),
          CONCAT('full ', CONVERT(v_full USING utf8mb4)));
      END IF;
    END IF;
  END WHILE;
END`;
