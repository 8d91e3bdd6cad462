import { isObject } from '../../../events/plain-data.js';
import { textOrNull } from './fields.js';

type RawFields = Readonly<Record<string, unknown>>;

/**
 * The content of a feature file in the current shape, which `feature.ts` parses. Older tools nest the fields under
 * `feature:`, call the id `id` or `feature_id`, keep the criteria outside `constraints`, and write criteria with a `key:`
 * or as prose.
 */
export function canonicalFeature(raw: unknown): unknown {
  if (!isObject(raw)) return raw;
  const { feature, ...otherFields } = raw;
  const fields: RawFields = isObject(feature) ? { ...feature, ...otherFields } : raw;
  const ids = [isObject(feature) ? feature.feature : feature, fields.feature_id, fields.id, fields.key];
  const { constraints = null, parent_id = null } = fields;
  return {
    ...fields,
    feature: ids.find((id) => (typeof id === 'string' ? textOrNull(id) : (id ?? null)) !== null),
    parent_id: parent_id ?? fields.parent_vector_id,
    constraints: canonicalCriteria(constraints, fields.acceptance_criteria),
  };
}

function canonicalCriteria(constraints: unknown, topLevelCriteria: unknown): unknown {
  if (constraints !== null && !isObject(constraints)) return constraints;
  const nestedCriteria = constraints?.acceptance_criteria ?? null;
  const criteriaLists = [nestedCriteria, topLevelCriteria].filter((list) => list != null);
  if (criteriaLists.some((list) => !Array.isArray(list)))
    return { ...constraints, acceptance_criteria: criteriaLists[0] };
  return {
    ...constraints,
    acceptance_criteria: (criteriaLists as unknown[][]).flat().map(canonicalCriterion),
  };
}

/** A criterion as a record or as prose. YAML reads the prose `Tests cover: login` as a record with one field. */
function canonicalCriterion(entry: unknown): unknown {
  if (!isObject(entry)) return entry;
  const id = entry.id ?? entry.key ?? entry.name;
  if (id !== undefined) return { ...entry, id, description: entry.description ?? entry.criterion };
  const [onlyEntry] = Object.entries(entry);
  const isProse = onlyEntry !== undefined && Object.keys(entry).length === 1 && !isObject(onlyEntry[1]);
  return isProse ? `${onlyEntry[0]}: ${proseOf(onlyEntry[1])}` : entry;
}

const proseOf = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? ''));
