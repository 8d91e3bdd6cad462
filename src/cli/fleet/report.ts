import { type Genesis, isProblem } from '../../client/index.js';
import type { CommandContext } from '../context.js';
import { countText, firstLines, joinFirst, section } from '../output/text.js';
import type { AgentProcess, AgentState } from './agent-process.js';
import type { AgentFacts, RefusedResult, WorkFacts } from './work-facts.js';
import type { KeptWorktree } from './worktree.js';

/** Who did what, what was refused, what is left. */
export interface FleetReport {
  readonly agents: readonly (Omit<AgentFacts, 'claim'> & {
    readonly agent: string;
    readonly state: AgentState;
    readonly restarts: number;
    readonly log: string;
  })[];
  readonly refused: readonly RefusedResult[];
  readonly worktrees: readonly KeptWorktree[];
  /** Null if the server did not answer. */
  readonly left: OpenTasks | null;
}

interface OpenTasks {
  readonly total: number;
  readonly task_ids: readonly string[];
}

const LEFT_LISTED_MAX = 1000;
const SHOWN_MAX = 20;

export async function buildReport(
  genesis: Genesis,
  agents: readonly AgentProcess[],
  facts: WorkFacts,
  worktrees: readonly KeptWorktree[],
): Promise<FleetReport> {
  return {
    agents: agents.map(({ name, state, restarts, log }) => {
      const { claim: _, ...counts } = facts.of(name);
      return { agent: name, state, ...counts, restarts, log: log.path };
    }),
    refused: facts.refused,
    worktrees,
    left: await readOpenTasks(genesis),
  };
}

async function readOpenTasks(genesis: Genesis): Promise<OpenTasks | null> {
  const status = await genesis.status();
  const open = await genesis.tasks({ phase: 'OPEN', limit: LEFT_LISTED_MAX });
  if (isProblem(status) || isProblem(open)) return null;
  const task_ids = open.tasks.map(({ task_id }) => task_id);
  if (open.next === null) return { total: task_ids.length, task_ids };
  return { total: status.total.in_progress + status.total.pending, task_ids };
}

export function reportText(report: FleetReport, { paint, table }: CommandContext): string {
  const { agents, refused, worktrees, left } = report;
  const rows = table(agents, [
    { head: 'Agent', cell: ({ agent }) => agent },
    { head: 'State', cell: ({ state }) => state },
    { head: 'Accepted', cell: ({ accepted }) => String(accepted) },
    { head: 'Refused', cell: ({ refused }) => String(refused) },
    { head: 'Failed', cell: ({ failed }) => String(failed) },
    { head: 'Lost', cell: ({ lost }) => String(lost) },
    { head: 'Released', cell: ({ released }) => String(released) },
    { head: 'Restarts', cell: ({ restarts }) => String(restarts) },
    { head: 'Log', cell: ({ log }) => log, is_flexible: true },
  ]);
  return [
    '',
    rows,
    ...section(paint.bold('Refused results'), firstLines(refused, SHOWN_MAX, refusedText)),
    ...section(paint.bold('Worktrees that are kept'), worktrees.map(worktreeText)),
    '',
    leftText(left),
  ].join('\n');
}

const refusedText = ({ agent, task_id, generation, reason, parked }: RefusedResult): string =>
  `${task_id}  ${agent}, generation ${generation}: ${reason}${parked === null ? '' : `, kept as ${parked}`}`;

function worktreeText({ folder, branch, commits, has_uncommitted_changes }: KeptWorktree): string {
  const changes = has_uncommitted_changes ? ', uncommitted changes' : '';
  return `${folder}  branch ${branch}: ${countText(commits, 'commit')}${changes}`;
}

function leftText(left: OpenTasks | null): string {
  if (left === null) return 'What is left is unknown: the server did not answer.';
  if (left.total === 0) return 'All tasks are done.';
  const { total, task_ids } = left;
  const listed = joinFirst(task_ids, SHOWN_MAX);
  return `${countText(total, 'task is', 'tasks are')} left: ${listed}. For the reasons, see gen status.`;
}
