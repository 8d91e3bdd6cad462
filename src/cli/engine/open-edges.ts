import type { Genesis } from '../../client/index.js';
import { isProblem } from '../../client/replies.js';
import type { RunSummary } from '../../core/contract/runs.js';
import { subjectKeys } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { engineError } from '../../engine/engine-error.js';
import { CommandFailure } from '../exit.js';

interface EdgeName {
  readonly feature_id: string;
  readonly edge: string;
}

interface OpenEdges {
  /** Edges with a requested run, oldest first. */
  readonly requested: readonly EdgeName[];
  /** Edges with a run of this executor that has not ended, also if the run waits for a person. */
  readonly unfinished: readonly EdgeName[];
}

const PAGE_RUNS = 1000;
/** Maximum number of pages per status. */
const PAGES_MAX = 20;

/** The edges with a requested run or an unfinished run of this executor. Throws if one status has too many runs, of anyone. */
export async function openEdges(genesis: Pick<Genesis, 'methodology'>, agentId: string): Promise<OpenEdges> {
  const runsOf = async (status: RunSummary['status']): Promise<readonly RunSummary[]> => {
    const runs: RunSummary[] = [];
    let after: string | undefined;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const page = await genesis.methodology.runs({
        status,
        limit: PAGE_RUNS,
        ...withoutUndefined({ after }),
      });
      if (isProblem(page)) throw engineError('unavailable', page.detail);
      runs.push(...page.runs);
      if (page.next === null) return runs;
      after = page.next;
    }
    throw new CommandFailure(
      `More than ${PAGES_MAX * PAGE_RUNS} runs have the status ${status}. List the runs with gen runs, and end those that are not needed: gen runs cancel RUN.`,
    );
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
