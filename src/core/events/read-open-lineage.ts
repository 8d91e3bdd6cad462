import { canonicalJson } from '../canonical-json.js';
import { type Fields, isObject } from './plain.js';
import { utc } from './time.js';

/** A line that says `eventType` speaks OpenLineage, whatever else it says beside it. */
export const isOpenLineage = (line: Readonly<Fields>): boolean => 'eventType' in line;

/** What a run's own type means where nothing says it better. */
const OF_RUN_TYPE: Readonly<Record<string, string>> = {
  START: 'edge_started',
  COMPLETE: 'edge_converged',
  ABORT: 'iteration_abandoned',
  FAIL: 'open_lineage_fail',
  OTHER: 'open_lineage_other',
};
/** Facets are spelled `sdlc:payload` or `sdlc_payload`. */
const SPELLINGS = ['sdlc:', 'sdlc_'] as const;
const NAMESPACE = /^aisdlc:\/\//;

/**
 * The same line in the flat dialect. Hybrids speak both at once, and migrated lines carry what they were: each place
 * fills in what those before it left open, and whatever says otherwise stays where it was, under `open_lineage`.
 */
export function flatOfOpenLineage(line: Readonly<Fields>): Fields {
  const { eventType, eventTime, run, job, inputs, outputs, producer, schemaURL, _metadata, ...top } = line;
  const facets = facetsOf(run);
  const { original_data: original, ...metadata } = isObject(_metadata) ? _metadata : {};
  const flat: Fields = {};
  const semantic = semanticType(line, facets, original);
  if (semantic !== null) flat.event_type = semantic;
  const time = [eventTime, top.timestamp, isObject(original) ? original.timestamp : null].find(
    (written) => utc(written) !== null,
  );
  if (time !== undefined) flat.timestamp = time;
  const rest_of_top = absorb(flat, top);
  const rest_of_facets = absorbFacets(flat, facets);
  const rest_of_original = isObject(original) ? absorb(flat, original) : original;
  fillIn(flat, job, facets);
  flat.open_lineage = withoutNothing({
    ...rest_of_top,
    open_lineage: flat.open_lineage,
    eventType,
    eventTime: eventTime === flat.timestamp ? undefined : eventTime,
    run: isObject(run) && isObject(run.facets) ? { ...run, facets: rest_of_facets } : run,
    job,
    inputs,
    outputs,
    producer,
    schemaURL,
    _metadata: isObject(_metadata) ? { ...metadata, original_data: rest_of_original } : _metadata,
  });
  return flat;
}

function facetsOf(run: unknown): Fields {
  return isObject(run) && isObject(run.facets) ? run.facets : {};
}

function facet(facets: Fields, name: string): unknown {
  for (const spelling of SPELLINGS) if (facets[spelling + name] != null) return facets[spelling + name];
  return undefined;
}

function semanticType(line: Readonly<Fields>, facets: Fields, original: unknown): string | null {
  const said = facet(facets, 'event_type');
  const candidates = [
    isObject(said) ? (said.type ?? said.value ?? said.event_type) : said,
    line.event_type,
    isObject(original) ? original.event_type : null,
    typeof line.eventType === 'string' ? OF_RUN_TYPE[line.eventType.toUpperCase()] : null,
  ];
  const found = candidates.find((candidate) => typeof candidate === 'string' && candidate !== '');
  return found === undefined ? null : snakeCase(found as string);
}

/** `IterationCompleted` and `iteration_completed` are one type; `CLAIM_ACQUIRED` is written so, and stays. */
export function snakeCase(type: string): string {
  if (!/[a-z]/.test(type)) return type;
  return type
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}

/** Takes from a source what is not said yet. Returns what it says differently, or nothing where it agrees. */
function absorb(flat: Fields, source: Fields): Fields | undefined {
  const differs: Fields = {};
  for (const [field, value] of Object.entries(source)) {
    if (!Object.hasOwn(flat, field)) flat[field] = value;
    else if (canonicalJson(flat[field]) !== canonicalJson(value)) differs[field] = value;
  }
  return Object.keys(differs).length === 0 ? undefined : differs;
}

function absorbFacets(flat: Fields, facets: Fields): Fields {
  const rest = { ...facets };
  for (const spelling of SPELLINGS) {
    const name = `${spelling}payload`;
    const payload = facets[name];
    if (isObject(payload)) rest[name] = absorbPayload(flat, payload);
  }
  return withoutNothing(rest);
}

function absorbPayload(flat: Fields, payload: Fields): Fields | undefined {
  const own = Object.entries(payload).filter(([field]) => field.startsWith('_'));
  const told = Object.entries(payload).filter(([field]) => !field.startsWith('_'));
  const rest = { ...Object.fromEntries(own), ...absorb(flat, Object.fromEntries(told)) };
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** What the frame of the line says of edge, project, actor and delta, where the line itself says nothing. */
function fillIn(flat: Fields, job: unknown, facets: Fields): void {
  const inner = isObject(flat.data) ? flat.data : {};
  const fill = (field: string, value: unknown): void => {
    if (flat[field] == null && inner[field] == null && value != null && value !== '') flat[field] = value;
  };
  const { name, namespace }: Fields = isObject(job) ? job : {};
  fill('edge', typeof name === 'string' ? name : null);
  fill('project', typeof namespace === 'string' ? namespace.replace(NAMESPACE, '') : null);
  const universal = facet(facets, 'universal');
  fill('agent_id', isObject(universal) ? universal.actor : null);
  const delta = facet(facets, 'delta');
  const value = isObject(delta) ? (delta.delta ?? delta.value) : delta;
  fill('delta', typeof value === 'number' ? value : null);
}

function withoutNothing(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
