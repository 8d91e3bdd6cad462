import { canonicalEdge } from '../methodology/definition/edge-name.js';
import { withoutUndefined } from '../without-undefined.js';
import { envelopeSchema } from './catalogue.js';
import { isoTime, msOf, type NewEvent } from './envelope.js';
import { normalizeToUtc } from './normalize-time.js';
import { isObject, type JsonObject } from './plain-data.js';
import { snakeCase } from './snake-case.js';

/** Values that a line of a foreign log does not contain. */
export interface ForeignLogContext {
  readonly tenant_id: string;
  /** Every line is imported into this project, whatever project it names. */
  readonly project_id: string;
  /** Name of the log, for display. */
  readonly source: string;
  /** Latest possible time of an event: later times are replaced by this one. */
  readonly now_ms: number;
}

/** The event of a line, or why there is none. */
export type ForeignParseResult = Omit<NewEvent, 'event_id'> | string;

/** Types of commands. They are no events, so our logs never contain them. */
const COMMAND_TYPES = new Set<string>(['edge_claim', 'edge_claimed']);
export const isCommandType = (eventType: string): boolean => COMMAND_TYPES.has(eventType);
const LEGACY_AGENT_ID = 'primary';

const { event_type: type, agent_id, agent_role, session_id, generation, request_id } = envelopeSchema.shape;
const subjectPartSchema = envelopeSchema.shape.feature_id.refine(
  (id) => id !== undefined && !/^~|#/.test(id),
);
const nameValidator = {
  safeParse: (value: unknown) => ({ success: typeof value === 'string' && value.length <= 1024 }),
};

type ForeignField = readonly [field: string, spellings: readonly string[], validator: FieldValidator];

/** Envelope fields, their names in the flat dialect, and the schema a value must match. */
const ENVELOPE_FIELDS: readonly ForeignField[] = [
  ['task_id', ['task_id'], subjectPartSchema],
  ['feature_id', ['feature_id', 'feature'], subjectPartSchema],
  ['agent_id', ['agent_id'], agent_id],
  ['agent_role', ['agent_role'], agent_role],
  ['session_id', ['session_id'], session_id],
  ['generation', ['generation'], generation],
  ['request_id', ['request_id'], request_id],
];
/** Ids that have no meaning here; kept in `payload.imported`. */
const ORIGIN_FIELDS: readonly ForeignField[] = [
  ['event_id', ['event_id'], nameValidator],
  ['tenant_id', ['tenant_id'], nameValidator],
  ['project', ['project', 'project_id'], nameValidator],
];

/**
 * Converts a line of the flat dialect, which has its fields at the top level or inside `data`. The event has neither
 * subject nor seq: claims reported by other tools change no head of ours. Original names and times are kept in
 * `payload.imported`.
 */
export function parseFlatLine(
  line: Readonly<JsonObject>,
  log: ForeignLogContext,
  lineNumber: number,
): ForeignParseResult {
  const { event_type: writtenType, timestamp, ...rest } = line;
  if (!type.safeParse(writtenType).success) return 'it has no type';
  const event_type = snakeCase(writtenType as string);
  if (isCommandType(event_type)) return `${writtenType} is a command, not something that happened`;
  const timestampUtc = normalizeToUtc(timestamp);
  if (timestampUtc === null) return 'it has no time that can be read';
  const layers = fieldLayersOf(rest);
  const imported: JsonObject = { source: log.source, line: lineNumber, original_timestamp: timestamp };
  if (event_type !== writtenType) imported.original_type = writtenType;
  Object.assign(imported, takeFields(layers, ORIGIN_FIELDS));
  const envelope = { ...takeFields(layers, ENVELOPE_FIELDS), ...liftEdge(layers, imported) };
  return {
    event_type,
    timestamp: isoTime(Math.min(msOf(timestampUtc), log.now_ms)),
    tenant_id: log.tenant_id,
    project_id: log.project_id,
    agent_id: LEGACY_AGENT_ID,
    ...envelope,
    payload: payloadOf(layers, imported),
  };
}

interface FieldLayers {
  readonly top: JsonObject;
  readonly inner: JsonObject;
}

/**
 * Separates the fields at the top level from the inner fields. Specification 001 calls the field that has the inner fields
 * `payload`; other writers call it `data`.
 */
function fieldLayersOf(rest: JsonObject): FieldLayers {
  const name = 'data' in rest || !isObject(rest.payload) ? 'data' : 'payload';
  const { [name]: data, ...top } = rest;
  return { top, inner: isObject(data) ? { ...data } : data === undefined ? {} : { data } };
}

interface FieldValidator {
  safeParse(value: unknown): { readonly success: boolean };
}

/** Removes and returns the first of these fields that is valid; invalid ones stay. */
function takeField(
  { top, inner }: FieldLayers,
  spellings: readonly string[],
  validator: FieldValidator,
): unknown {
  for (const layer of [top, inner]) {
    const spelling = spellings.find(
      (name) => hasContent(layer[name]) && validator.safeParse(layer[name]).success,
    );
    if (spelling === undefined) continue;
    const value = layer[spelling];
    delete layer[spelling];
    return value;
  }
  return undefined;
}

const hasContent = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

function takeFields(layers: FieldLayers, fields: readonly ForeignField[]): JsonObject {
  const taken = fields.map(([field, ...rest]) => [field, takeField(layers, ...rest)]);
  return withoutUndefined(Object.fromEntries(taken) as JsonObject);
}

const edgeValidator: FieldValidator = {
  safeParse: (value) => ({
    success: typeof value === 'string' && subjectPartSchema.safeParse(canonicalEdge(value)).success,
  }),
};

function liftEdge(layers: FieldLayers, imported: JsonObject): Partial<NewEvent> {
  const originalEdge = takeField(layers, ['edge'], edgeValidator) as string | undefined;
  if (originalEdge === undefined) return {};
  const edge = canonicalEdge(originalEdge);
  if (edge !== originalEdge) imported.original_edge = originalEdge;
  return { edge };
}

function payloadOf({ top, inner }: FieldLayers, imported: JsonObject): JsonObject {
  const { imported: before, ...payload } = renameHeldBy(mergeLayers(top, inner));
  if (before !== undefined) imported.imported = before;
  // A delta is a count; some writers use -1 for unknown.
  if (payload.delta === -1) {
    imported.delta = -1;
    delete payload.delta;
  }
  return { ...payload, imported };
}

/** Merges both layers. If they share a name, `data` remains a field of its own, so that nothing is lost. */
function mergeLayers(top: JsonObject, inner: JsonObject): JsonObject {
  const hasClash = Object.keys(inner).some((field) => Object.hasOwn(top, field));
  return hasClash ? { ...top, data: inner } : { ...top, ...inner };
}

function renameHeldBy(payload: JsonObject): JsonObject {
  const { held_by, ...rest } = payload;
  return held_by === undefined || Object.hasOwn(rest, 'holding_agent')
    ? payload
    : { ...rest, holding_agent: held_by };
}
