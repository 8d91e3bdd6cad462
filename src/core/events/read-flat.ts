import { canonicalEdge } from '../graph/edge-name.js';
import { envelopeSchema } from './catalogue.js';
import { isoTime, msOf, type NewEvent } from './envelope.js';
import { normalizeToUtc } from './normalize-time.js';
import { isObject, type JsonObject } from './plain-data.js';

/** What a line of a foreign log does not say for itself. */
export interface ForeignLogContext {
  readonly tenant_id: string;
  /** Every line is taken into this project, whatever it calls its own. */
  readonly project_id: string;
  /** What people call the log. */
  readonly source: string;
  /** Nothing happened later than this: a time beyond it is written as this one. */
  readonly now_ms: number;
}

export type ForeignParseResult =
  | { readonly ok: true; readonly event: Omit<NewEvent, 'event_id'> }
  | { readonly ok: false; readonly path: string; readonly message: string };

/** Asked for, never happened: no log of ours has it as an event. */
const COMMAND_TYPES: ReadonlySet<string> = new Set(['edge_claim', 'edge_claimed']);
export const isCommandType = (eventType: string): boolean => COMMAND_TYPES.has(eventType);
const LEGACY_AGENT_ID = 'primary';

const { event_type: type, agent_id, agent_role, session_id, generation, request_id } = envelopeSchema.shape;
const subjectKeyField = envelopeSchema.shape.feature_id.refine((id) => id !== undefined && !/^~|#/.test(id));
const shortText = {
  safeParse: (value: unknown) => ({ success: typeof value === 'string' && value.length <= 1024 }),
};

/** The envelope's fields by the names the flat dialect has for them, and what they must be to be taken for one. */
const ENVELOPE_FIELDS = [
  ['task_id', ['task_id'], subjectKeyField],
  ['feature_id', ['feature_id', 'feature'], subjectKeyField],
  ['agent_id', ['agent_id'], agent_id],
  ['agent_role', ['agent_role'], agent_role],
  ['session_id', ['session_id'], session_id],
  ['generation', ['generation'], generation],
  ['request_id', ['request_id'], request_id],
] as const;
/** Names of another's that mean nothing here; kept as what they were called. */
const ORIGIN_FIELDS = [
  ['event_id', ['event_id']],
  ['tenant_id', ['tenant_id']],
  ['project', ['project', 'project_id']],
] as const;

/**
 * The flat dialect keeps everything at the top of the line or inside `data`, as each writer pleased.
 * A line read this way has neither subject nor seq: what others say was claimed moves no head of ours. What a name or
 * a time was before it was brought into one form is in `payload.imported`.
 */
export function parseFlatLine(
  line: Readonly<JsonObject>,
  log: ForeignLogContext,
  lineNumber: number,
): ForeignParseResult {
  const { event_type, timestamp, ...rest } = line;
  if (!type.safeParse(event_type).success) return parseFault('event_type', 'it has no type');
  if (isCommandType(event_type as string)) {
    return parseFault('event_type', `${event_type} is a command, not something that happened`);
  }
  const timestampUtc = normalizeToUtc(timestamp);
  if (timestampUtc === null) return parseFault('timestamp', 'it has no time that can be read');
  const layers = fieldLayersOf(rest);
  const imported: JsonObject = { source: log.source, line: lineNumber, original_timestamp: timestamp };
  for (const [field, spellings] of ORIGIN_FIELDS) {
    const value = takeField(layers, spellings, shortText);
    if (value !== undefined) imported[field] = value;
  }
  const envelope = { ...liftEnvelopeFields(layers), ...liftEdge(layers, imported) };
  return {
    ok: true,
    event: {
      event_type: event_type as string,
      timestamp: isoTime(Math.min(msOf(timestampUtc), log.now_ms)),
      tenant_id: log.tenant_id,
      project_id: log.project_id,
      agent_id: LEGACY_AGENT_ID,
      ...envelope,
      payload: payloadOf(layers, imported),
    },
  };
}

const parseFault = (path: string, message: string): ForeignParseResult => ({ ok: false, path, message });

interface FieldLayers {
  readonly top: JsonObject;
  readonly inner: JsonObject;
}

/** Seed 001 calls `payload` what the others call `data`. */
function fieldLayersOf(rest: JsonObject): FieldLayers {
  const name = 'data' in rest || !isObject(rest.payload) ? 'data' : 'payload';
  const { [name]: data, ...top } = rest;
  return { top, inner: isObject(data) ? { ...data } : data === undefined ? {} : { data } };
}

interface FieldValidator {
  safeParse(value: unknown): { readonly success: boolean };
}

/** Removes and returns the first of these fields that says something that fits; what does not fit stays. */
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

function liftEnvelopeFields(layers: FieldLayers): Partial<NewEvent> {
  const envelope: JsonObject = {};
  for (const [field, spellings, validator] of ENVELOPE_FIELDS) {
    const value = takeField(layers, spellings, validator);
    if (value !== undefined) envelope[field] = value;
  }
  return envelope;
}

const edgeValidator: FieldValidator = {
  safeParse: (value) => ({
    success: typeof value === 'string' && subjectKeyField.safeParse(canonicalEdge(value)).success,
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
  // How far an edge is from done is a count; the one below nought says that nobody knows.
  if (payload.delta === -1) {
    imported.delta = -1;
    delete payload.delta;
  }
  return { ...payload, imported };
}

/** One payload of both places; where both use a name, `data` stays whole so that nothing is lost. */
function mergeLayers(top: JsonObject, inner: JsonObject): JsonObject {
  const clash = Object.keys(inner).some((field) => Object.hasOwn(top, field));
  return clash ? { ...top, data: inner } : { ...top, ...inner };
}

function renameHeldBy(payload: JsonObject): JsonObject {
  const { held_by, ...rest } = payload;
  return held_by === undefined || Object.hasOwn(rest, 'holding_agent')
    ? payload
    : { ...rest, holding_agent: held_by };
}
