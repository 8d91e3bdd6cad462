/** What a line of a foreign log does not say for itself. */
export interface ForeignLog {
  readonly tenant_id: string;
  /** Used where a line names no project. */
  readonly project_id: string;
  /** The place of the line in its log. */
  readonly position: number;
  /** Must give the same id for the same line every time, or an import repeated would double it. */
  readonly idOf: (line: Readonly<Record<string, unknown>>) => string;
}

type Fields = Record<string, unknown>;

/** The envelope's fields by the names the flat dialect has for them, the preferred one first. */
const LIFTED: Readonly<Record<string, readonly string[]>> = {
  event_id: ['event_id'],
  event_type: ['event_type'],
  timestamp: ['timestamp'],
  tenant_id: ['tenant_id'],
  project_id: ['project_id', 'project'],
  task_id: ['task_id'],
  feature_id: ['feature_id', 'feature'],
  edge: ['edge'],
  agent_id: ['agent_id'],
  agent_role: ['agent_role'],
  session_id: ['session_id'],
  generation: ['generation'],
  request_id: ['request_id'],
};
const NEVER_IN_DATA: ReadonlySet<string> = new Set(['event_id', 'event_type', 'timestamp', 'tenant_id']);

/**
 * The flat dialect keeps everything at the top of the line or inside `data`, as each writer pleased.
 * A line read this way has neither subject nor seq: what others say was claimed moves no head of ours.
 */
export function readFlat(line: Readonly<Fields>, log: ForeignLog): Fields {
  const { data, ...top } = line;
  const inner: Fields = isObject(data) ? { ...data } : data === undefined ? {} : { data };
  const envelope: Fields = {};
  for (const [field, spellings] of Object.entries(LIFTED)) {
    const value = take(top, spellings) ?? (NEVER_IN_DATA.has(field) ? undefined : take(inner, spellings));
    if (value !== undefined) envelope[field] = value;
  }
  return {
    event_id: log.idOf(line),
    tenant_id: log.tenant_id,
    project_id: log.project_id,
    // A log written before there were several agents names none.
    agent_id: 'primary',
    ...envelope,
    position: log.position,
    payload: renamed(merged(top, inner)),
  };
}

/** Removes and returns the first of these fields that says anything. */
function take(from: Fields, spellings: readonly string[]): unknown {
  const spelling = spellings.find((candidate) => from[candidate] != null && from[candidate] !== '');
  if (spelling === undefined) return undefined;
  const value = from[spelling];
  delete from[spelling];
  return value;
}

/** One payload of both places; where both use a name, `data` stays whole so that nothing is lost. */
function merged(top: Fields, inner: Fields): Fields {
  const clash = Object.keys(inner).some((field) => Object.hasOwn(top, field));
  return clash ? { ...top, data: inner } : { ...top, ...inner };
}

function renamed(payload: Fields): Fields {
  const { held_by, ...rest } = payload;
  return held_by === undefined || Object.hasOwn(rest, 'holding_agent')
    ? payload
    : { ...rest, holding_agent: held_by };
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
