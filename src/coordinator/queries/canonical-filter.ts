import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';

interface SubjectFilter {
  readonly task_id?: string;
  readonly feature_id?: string;
  readonly edge?: string;
}

/**
 * Normalizes a filter: an edge in any spelling, or given as `task_id`, becomes feature_id and edge in canonical
 * spelling, which is how the log stores it.
 */
export function canonicalFilter<Filter extends SubjectFilter>(filter: Filter): Filter {
  const { task_id, edge } = filter;
  const normalized = edge === undefined ? filter : { ...filter, edge: canonicalEdge(edge) };
  if (task_id === undefined || subjectKindOf(task_id) !== 'edge') return normalized;
  const keys = subjectKeys(task_id);
  const edgeFields = { feature_id: keys.feature_id as string, edge: canonicalEdge(keys.edge as string) };
  const isConsistent = (name: 'feature_id' | 'edge') =>
    normalized[name] === undefined || normalized[name] === edgeFields[name];
  // Contradictory names match nothing: no event has both these fields and this task_id.
  if (!isConsistent('feature_id') || !isConsistent('edge')) return normalized;
  const { task_id: _, ...rest } = normalized;
  return { ...rest, ...edgeFields } as Filter;
}
