import type { Genesis } from '../../client/index.js';
import { isProblem } from '../../client/replies.js';
import type { RunSummary } from '../../core/contract/runs.js';
import { subjectKeys } from '../../core/subject.js';
import { engineError } from '../../engine/engine-error.js';

interface EdgeName {
  readonly feature_id: string;
  readonly edge: string;
}

interface OpenEdges {
  /** Edges with a requested run, oldest first. */
  readonly requested: readonly EdgeName[];
  /** Edges with a run of this executor that has not ended. */
  readonly unfinished: readonly EdgeName[];
}

const PAGE_RUNS = 1000;

/** The edges whose runs wait for an executor. */
export async function openEdges(genesis: Pick<Genesis, 'methodology'>, agentId: string): Promise<OpenEdges> {
  const runsOf = async (status: RunSummary['status']): Promise<readonly RunSummary[]> => {
    const page = await genesis.methodology.runs({ status, limit: PAGE_RUNS });
    if (isProblem(page)) throw engineError('unavailable', page.detail);
    return page.runs;
  };
  const [requested, running, waiting] = await Promise.all([
    runsOf('REQUESTED'),
    runsOf('RUNNING'),
    runsOf('WAITING'),
  ]);
  const ownRuns = [...running, ...waiting].filter(({ agent_id }) => agent_id === agentId);
  return {
    requested: [...requested].reverse().flatMap(({ task_id }) => edgeOfTask(task_id)),
    unfinished: ownRuns.flatMap(({ task_id }) => edgeOfTask(task_id)),
  };
}

function edgeOfTask(taskId: string): EdgeName[] {
  const { feature_id, edge } = subjectKeys(taskId);
  return feature_id === undefined || edge === undefined ? [] : [{ feature_id, edge }];
}
