import { canonicalJson } from '../canonical-json.js';
import { withoutUndefined } from '../without-undefined.js';
import { normalizeToUtc } from './normalize-time.js';
import { isObject, type JsonObject } from './plain-data.js';
import { snakeCase } from './snake-case.js';

/** Whether a line is OpenLineage: it has an `eventType`. */
export const isOpenLineage = (line: Readonly<JsonObject>): boolean => 'eventType' in line;

/** The event type for each OpenLineage run type, for lines that name no event type. */
const EVENT_TYPE_BY_RUN_TYPE: Readonly<Record<string, string>> = {
  START: 'edge_started',
  COMPLETE: 'edge_converged',
  ABORT: 'iteration_abandoned',
  FAIL: 'open_lineage_fail',
  OTHER: 'open_lineage_other',
};
/** Prefixes of facets: `sdlc:payload` or `sdlc_payload`. */
const FACET_PREFIXES = ['sdlc:', 'sdlc_'] as const;
const NAMESPACE = /^aisdlc:\/\//;

/**
 * Converts a line to the flat dialect. A hybrid line has both forms, and a migrated line contains its original. Each of
 * these sources adds the fields that the earlier sources lack; differing values are kept under `open_lineage`.
 */
export function flattenOpenLineage(line: Readonly<JsonObject>): JsonObject {
  const { eventType, eventTime, run, job, inputs, outputs, producer, schemaURL, _metadata, ...top } = line;
  const facets = facetsOf(run);
  const { original_data: original, ...metadata } = isObject(_metadata) ? _metadata : {};
  const flat: JsonObject = {};
  const resolvedType = eventTypeOf(line, facets, original);
  if (resolvedType !== null) flat.event_type = resolvedType;
  const time = [eventTime, top.timestamp, isObject(original) ? original.timestamp : null].find(
    (written) => normalizeToUtc(written) !== null,
  );
  if (time !== undefined) flat.timestamp = time;
  const restOfTop = addMissingFields(flat, top);
  const restOfFacets = addFacetFields(flat, facets);
  const restOfOriginal = isObject(original) ? addMissingFields(flat, original) : original;
  addJobFields(flat, job, facets);
  flat.open_lineage = withoutUndefined({
    ...restOfTop,
    open_lineage: flat.open_lineage,
    eventType,
    eventTime: eventTime === flat.timestamp ? undefined : eventTime,
    run: isObject(run) && isObject(run.facets) ? { ...run, facets: restOfFacets } : run,
    job,
    inputs,
    outputs,
    producer,
    schemaURL,
    _metadata: isObject(_metadata) ? { ...metadata, original_data: restOfOriginal } : _metadata,
  });
  return flat;
}

function facetsOf(run: unknown): JsonObject {
  return isObject(run) && isObject(run.facets) ? run.facets : {};
}

function facetNamed(facets: JsonObject, name: string): unknown {
  for (const prefix of FACET_PREFIXES) if (facets[prefix + name] != null) return facets[prefix + name];
  return undefined;
}

function eventTypeOf(line: Readonly<JsonObject>, facets: JsonObject, original: unknown): string | null {
  const typeFacet = facetNamed(facets, 'event_type');
  const candidates = [
    isObject(typeFacet) ? (typeFacet.type ?? typeFacet.value ?? typeFacet.event_type) : typeFacet,
    line.event_type,
    isObject(original) ? original.event_type : null,
    typeof line.eventType === 'string' ? EVENT_TYPE_BY_RUN_TYPE[line.eventType.toUpperCase()] : null,
  ];
  const found = candidates.find((candidate) => typeof candidate === 'string' && candidate !== '');
  return found === undefined ? null : snakeCase(found as string);
}

/** Adds the fields of a source that are missing. Returns those that differ; undefined if there are none. */
function addMissingFields(flat: JsonObject, source: JsonObject): JsonObject | undefined {
  const differingFields: JsonObject = {};
  for (const [field, value] of Object.entries(source)) {
    if (!Object.hasOwn(flat, field)) flat[field] = value;
    else if (canonicalJson(flat[field]) !== canonicalJson(value)) differingFields[field] = value;
  }
  return Object.keys(differingFields).length === 0 ? undefined : differingFields;
}

function addFacetFields(flat: JsonObject, facets: JsonObject): JsonObject {
  const rest = { ...facets };
  for (const prefix of FACET_PREFIXES) {
    const name = `${prefix}payload`;
    const payload = facets[name];
    if (isObject(payload)) rest[name] = addPayloadFields(flat, payload);
  }
  return withoutUndefined(rest);
}

function addPayloadFields(flat: JsonObject, payload: JsonObject): JsonObject | undefined {
  const metadata = fieldsWhere(payload, isMetadata);
  const data = fieldsWhere(payload, (field) => !isMetadata(field));
  const rest = { ...metadata, ...addMissingFields(flat, data) };
  return Object.keys(rest).length === 0 ? undefined : rest;
}

const isMetadata = (field: string): boolean => field.startsWith('_');

const fieldsWhere = (fields: JsonObject, isIncluded: (field: string) => boolean): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([field]) => isIncluded(field)));

/** Fills in feature, edge, project, actor and delta from the job and the facets, if the line has none. */
function addJobFields(flat: JsonObject, job: unknown, facets: JsonObject): void {
  const inner = isObject(flat.data) ? flat.data : {};
  const hasField = (field: string): boolean => hasText(flat[field]) || hasText(inner[field]);
  const fillField = (field: string, value: unknown): void => {
    if (!hasField(field) && value != null && value !== '') flat[field] = value;
  };
  const { name, namespace }: JsonObject = isObject(job) ? job : {};
  const jobParts = jobNameParts(name);
  const reqKeys = objectFacet(facets, 'req_keys');
  const universal = objectFacet(facets, 'universal');
  fillField('edge', hasText(reqKeys.edge) ? reqKeys.edge : jobParts.edge);
  fillField('project', typeof namespace === 'string' ? namespace.replace(NAMESPACE, '') : null);
  if (!hasField('feature_id')) {
    const possibleFeatureIds = [
      knownFeatureId(reqKeys.feature_id),
      jobParts.featureId,
      featureIdOfInstance(universal.instance_id),
    ];
    fillField(
      'feature',
      possibleFeatureIds.find((id) => id !== null),
    );
  }
  fillField('agent_id', universal.actor);
  const delta = facetNamed(facets, 'delta');
  const value = isObject(delta) ? (delta.delta ?? delta.value) : delta;
  if (flat.delta == null && inner.delta == null && typeof value === 'number') flat.delta = value;
}

const hasText = (value: unknown): boolean => value != null && value !== '';

function objectFacet(facets: JsonObject, name: string): JsonObject {
  const found = facetNamed(facets, name);
  return isObject(found) ? found : {};
}

const FEATURE_AND_EDGE = /^([^:\s]+):(.+)$/;
const ARROW = /[→↔⇒⇔⟶⟷]|->/;
/** A job that is not an edge: `SPAWN`, `SENSORY_PROBE:artifact`. */
const ACTIVITY = /^[A-Z][A-Z0-9_]*(:|$)/;
/** The form of a feature id. An instance id may name a feature, a run or a project, but only features have this form. */
const FEATURE_INSTANCE = /^[A-Z]{2,}(-[A-Z0-9]+)+$/;

/**
 * The edge and the feature in the name of a job. Some writers name a job after its edge, others `feature:edge`, and others
 * after an activity that is not an edge.
 */
function jobNameParts(name: unknown): { readonly edge: string | null; readonly featureId: string | null } {
  if (typeof name !== 'string') return { edge: null, featureId: null };
  const [, left = '', right = ''] = FEATURE_AND_EDGE.exec(name) ?? [];
  if (ARROW.test(right) || FEATURE_INSTANCE.test(left))
    return { edge: right, featureId: knownFeatureId(left) };
  return { edge: ACTIVITY.test(name) && !ARROW.test(name) ? null : name, featureId: null };
}

const knownFeatureId = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value !== 'unknown' ? value : null;

const featureIdOfInstance = (value: unknown): string | null =>
  typeof value === 'string' && FEATURE_INSTANCE.test(value) ? value : null;
