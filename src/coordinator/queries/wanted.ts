import { canonicalEdge } from '../../core/graph/edge-name.js';
import { kindOf, subjectKeys } from '../../core/subject.js';

interface Named {
  readonly task_id?: string;
  readonly feature_id?: string;
  readonly edge?: string;
}

/**
 * Work is named here as everywhere: an edge in any spelling, and by the one `task_id` that its claim goes by. The log
 * itself knows an edge by feature and edge, in one spelling.
 */
export function asInTheLog<Filter extends Named>(filter: Filter): Filter {
  const { task_id, edge } = filter;
  const spelt = edge === undefined ? filter : { ...filter, edge: canonicalEdge(edge) };
  if (task_id === undefined || kindOf(task_id) !== 'edge') return spelt;
  const keys = subjectKeys(task_id);
  const named = { feature_id: keys.feature_id as string, edge: canonicalEdge(keys.edge as string) };
  const agrees = (name: 'feature_id' | 'edge') => spelt[name] === undefined || spelt[name] === named[name];
  // Two names that contradict each other name nothing: no event has both fields and this task_id.
  if (!agrees('feature_id') || !agrees('edge')) return spelt;
  const { task_id: _, ...rest } = spelt;
  return { ...rest, ...named } as Filter;
}
