import { type Genesis, isProblem } from '../../client/index.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import { countText, joinFirst } from '../output/text.js';

/** The open work when a fleet has ended. */
export interface OpenWork {
  /** Number of open tasks. */
  readonly task_total: number;
  readonly task_ids: readonly string[];
  /** Number of edges that have not converged; 0 if no agent of the fleet takes edges, or the project has none. */
  readonly edge_total: number;
  /** The next edge of each open feature. */
  readonly edges: readonly string[];
  /** Subjects whose results wait for a person. */
  readonly reviews: readonly string[];
}

const LISTED_MAX = 1000;
const SHOWN_MAX = 20;
const NO_EDGES = { edge_total: 0, edges: [] };

/** Reads the open work. Null if a request failed. */
export async function readOpenWork(genesis: Genesis, shouldReadEdges: boolean): Promise<OpenWork | null> {
  const tasks = await readOpenTasks(genesis);
  const edges = shouldReadEdges ? await readOpenEdges(genesis) : NO_EDGES;
  const pending = await genesis.methodology.reviews();
  if (tasks === null || edges === null || isProblem(pending)) return null;
  return { ...tasks, ...edges, reviews: pending.reviews.map(({ task_id }) => task_id) };
}

async function readOpenTasks(genesis: Genesis): Promise<Pick<OpenWork, 'task_total' | 'task_ids'> | null> {
  const status = await genesis.status();
  const open = await genesis.tasks({ phase: 'OPEN', limit: LISTED_MAX });
  if (isProblem(status) || isProblem(open)) return null;
  const task_ids = open.tasks.map(({ task_id }) => task_id);
  if (open.next === null) return { task_total: task_ids.length, task_ids };
  return { task_total: status.total.in_progress + status.total.pending, task_ids };
}

async function readOpenEdges(genesis: Genesis): Promise<Pick<OpenWork, 'edge_total' | 'edges'> | null> {
  const status = await genesis.methodology.status();
  if (isProblem(status)) return status.status === 404 || status.status === 409 ? NO_EDGES : null;
  const edges = status.features.flatMap(({ feature_id, current_edge }) =>
    current_edge === null ? [] : [edgeSubject(feature_id, current_edge)],
  );
  return { edge_total: status.project.edges_remaining, edges: edges.slice(0, LISTED_MAX) };
}

export const isAllWorkDone = (left: OpenWork | null): boolean =>
  left !== null && left.task_total === 0 && left.edge_total === 0;

export function openWorkText(left: OpenWork | null): string {
  if (left === null) return 'The open work is unknown: it could not be read from the server. See gen status.';
  if (isAllWorkDone(left)) return 'All work is done.';
  const { task_total, task_ids, edge_total, edges, reviews } = left;
  const parts = [
    ...(task_total === 0 ? [] : [tasksLeft(task_total, task_ids)]),
    ...(edge_total === 0 ? [] : [edgesLeft(edge_total, edges)]),
  ];
  const subjects = [...task_ids, ...edges];
  const isAllForPeople = subjects.length > 0 && subjects.every((subject) => reviews.includes(subject));
  if (isAllForPeople) return `${parts.join(' ')} All of it waits for a person: gen review.`;
  const waiting =
    reviews.length === 0
      ? ''
      : `${countText(reviews.length, 'result waits', 'results wait')} for a person: gen review. `;
  return `${parts.join(' ')} ${waiting}For the reasons, see gen status.`;
}

const tasksLeft = (count: number, ids: readonly string[]): string =>
  `${countText(count, 'task is', 'tasks are')} left: ${joinFirst(ids, SHOWN_MAX)}.`;

const edgesLeft = (count: number, next: readonly string[]): string =>
  `${countText(count, 'edge is', 'edges are')} left; next for each feature: ${joinFirst(next, SHOWN_MAX)}.`;
