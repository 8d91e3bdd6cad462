import { expect, it } from 'vitest';
import type { RunSummary, RunsQuery } from '../../core/contract/runs.js';
import { openEdges } from './open-edges.js';

type Server = Parameters<typeof openEdges>[0];

/** A server whose runs of each status are listed newest first, in pages. */
function serverWith(runs: Partial<Record<string, readonly Partial<RunSummary>[]>>): Server {
  const list = async ({ status = 'REQUESTED', limit = 50, after }: RunsQuery) => {
    const start = Number(after ?? 0);
    const all = runs[status] ?? [];
    const end = start + limit;
    return { runs: all.slice(start, end), next: end < all.length ? String(end) : null };
  };
  return { methodology: { runs: list } } as unknown as Server;
}

const runsOf = (count: number, agent_id: string | null = null) =>
  Array.from({ length: count }, (_, at) => ({ task_id: `F-${at}#design_code`, agent_id }));

it('includes the runs of every page: requested ones oldest first, and unfinished ones of this executor', async () => {
  const others = runsOf(1500, 'other');
  const server = serverWith({
    REQUESTED: runsOf(2500),
    RUNNING: [...others, { task_id: 'OWN-1#design_code', agent_id: 'me' }],
    WAITING: [...others, { task_id: 'OWN-2#design_code', agent_id: 'me' }],
  });
  const { requested, unfinished } = await openEdges(server, 'me');
  expect(requested).toHaveLength(2500);
  expect(requested[0]).toEqual({ feature_id: 'F-2499', edge: 'design_code' });
  expect(unfinished.map(({ feature_id }) => feature_id)).toEqual(['OWN-1', 'OWN-2']);
});

it('ends with an error at the limit of pages', async () => {
  await expect(openEdges(serverWith({ REQUESTED: runsOf(20_001) }), 'me')).rejects.toThrow(
    'More than 20000 runs have the status REQUESTED.',
  );
});
