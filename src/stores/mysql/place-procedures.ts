import { NAME_BYTES_MAX } from './names.js';

const NAME = `VARBINARY(${NAME_BYTES_MAX})`;
const TEXT = 'LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

const SCOPES = `JSON_TABLE(p_scopes, '$[*]' COLUMNS (
      scope ${NAME} PATH '$[0]', takes BIGINT PATH '$[1]', room BIGINT PATH '$[2]'))`;
const SLOT = `scope ${NAME} PATH '$[0]', member ${NAME} PATH '$[1]', until_ms BIGINT PATH '$[2]'`;
const SLOTS = `JSON_TABLE(p_slots, '$[*]' COLUMNS (
      unit INT PATH '$[0]', NESTED PATH '$[1][*]' COLUMNS (${SLOT})))`;
const SLOTS_OF_ONE = `JSON_TABLE(v_one, '$[1][*]' COLUMNS (${SLOT}))`;
const ROOMS_OF_ONE = `JSON_TABLE(v_rooms, '$[*]' COLUMNS (
            number FOR ORDINALITY, scope ${NAME} PATH '$[0]', room BIGINT PATH '$[1]'))`;

/** Past so many places taken since the last count, a scope is counted anew and its expired places are let go. */
const UNCOUNTED_MAX = 10_000;

const PLACE_OF_SLOT =
  'p.tenant_id = p_tenant AND p.scope = j.scope AND p.project_id = p_project AND p.member = j.member';
const WAS = 'COALESCE(p.until_ms > p_now, 0)';
const IS = '(j.until_ms > p_now)';

const scopesWhere = (condition: string): string => `EXISTS (
    SELECT 1 FROM ${SCOPES} s STRAIGHT_JOIN scopes c ON c.tenant_id = p_tenant AND c.scope = s.scope
    WHERE ${condition})`;
const updateScopes = (column: string, value: string): string => `
    UPDATE scopes c JOIN ${SCOPES} s ON s.scope = c.scope SET c.${column} = ${value}
    WHERE c.tenant_id = p_tenant;`;

/** Whoever moves places holds their scopes, of all projects of the tenant, until it commits. */
export const LOCK_SCOPES = `CREATE PROCEDURE lock_scopes(p_tenant VARBINARY(128), p_scopes JSON)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  INSERT INTO scopes (tenant_id, scope, live_at_most)
  SELECT p_tenant, s.scope, s.takes FROM ${SCOPES} s
  ON DUPLICATE KEY UPDATE live_at_most = live_at_most + VALUES(live_at_most);
END`;

/**
 * A scope knows how many of its places may be live at most: all that were taken since it was last counted, whether
 * or not they have run out. Where that is within the room nobody needs to count. Where it is not, the scope is counted,
 * and only where that leaves less room than the run takes do units have to take their places one after the other.
 * A place that is freed is one that has run out.
 */
export const TAKE_PLACES = `CREATE PROCEDURE take_places(
  p_tenant VARBINARY(128), p_project VARBINARY(128), p_now BIGINT, p_scopes JSON, p_slots JSON, p_rooms JSON,
  p_has_frees INT, INOUT p_out ${TEXT}, INOUT p_refused ${TEXT}, INOUT p_wrote INT
)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
  DECLARE v_next, v_unit INT DEFAULT 0;
  DECLARE v_one, v_rooms ${TEXT};
  DECLARE v_full ${NAME};

  IF ${scopesWhere(`c.live_at_most > s.room OR c.live_at_most > 2 * c.counted + ${UNCOUNTED_MAX}`)} THEN
    DELETE p FROM ${SCOPES} s STRAIGHT_JOIN places p ON p.tenant_id = p_tenant AND p.scope = s.scope
    WHERE p.until_ms <= p_now;
    ${updateScopes('counted', '(SELECT COUNT(*) FROM places p WHERE p.tenant_id = p_tenant AND p.scope = c.scope)')}
    ${updateScopes('live_at_most', 'c.counted + s.takes')}
  END IF;

  IF ${scopesWhere('c.live_at_most > s.room')} THEN
    ${updateScopes('live_at_most', 'c.counted')}
    WHILE v_next < JSON_LENGTH(p_slots) DO
      SET v_one = JSON_EXTRACT(p_slots, CONCAT('$[', v_next, ']'));
      SET v_rooms = JSON_EXTRACT(p_rooms, CONCAT('$[', v_next, ']'));
      SET v_unit = JSON_EXTRACT(v_one, '$[0]');
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
          SET p_refused = JSON_SET(p_refused, CONCAT('$."', v_unit, '"'),
            CONCAT('full ', CONVERT(v_full USING utf8mb4)));
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
