import { canonicalEdge } from '../../core/graph/edge-name.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';

interface SubjectFilter {
  readonly task_id?: string;
  readonly feature_id?: string;
  readonly edge?: string;
}

/**
 * Work is named here as everywhere: an edge in any spelling, and by the one `task_id` that its claim goes by. The log
 * itself knows an edge by feature and edge, in one spelling.
 */
export function canonicalFilter<Filter extends SubjectFilter>(filter: Filter): Filter {
  const { task_id, edge } = filter;
  const normalized = edge === undefined ? filter : { ...filter, edge: canonicalEdge(edge) };
  if (task_id === undefined || subjectKindOf(task_id) !== 'edge') return normalized;
  const keys = subjectKeys(task_id);
  const edgeFields = { feature_id: keys.feature_id as string, edge: canonicalEdge(keys.edge as string) };
  const isConsistent = (name: 'feature_id' | 'edge') =>
    normalized[name] === undefined || normalized[name] === edgeFields[name];
  // Two names that contradict each other name nothing: no event has both fields and this task_id.
  if (!isConsistent('feature_id') || !isConsistent('edge')) return normalized;
  const { task_id: _, ...rest } = normalized;
  return { ...rest, ...edgeFields } as Filter;
}
