import type { CommandContext } from '../context.js';
import { countText, firstLines, section } from '../output/text.js';
import { type AgentProcess, type AgentState, stateText } from './agent-process.js';
import type { AgentProgress, FleetProgress, RefusedResult } from './fleet-progress.js';
import { type OpenWork, openWorkText } from './open-work.js';
import type { KeptWorktree } from './worktree.js';

/** The report of a fleet: the results of each agent, refusals, and open work. */
export interface FleetReport {
  readonly agents: readonly (Omit<AgentProgress, 'claim'> & {
    readonly agent_id: string;
    readonly state: AgentState;
    readonly restarts: number;
    readonly log: string;
  })[];
  readonly refused: readonly RefusedResult[];
  readonly worktrees: readonly KeptWorktree[];
  /** Null if it could not be read from the server. */
  readonly left: OpenWork | null;
}

const SHOWN_MAX = 20;

export const agentsReport = (
  agents: readonly AgentProcess[],
  progress: FleetProgress,
): Pick<FleetReport, 'agents' | 'refused'> => ({
  agents: agents.map(({ name, state, restarts, log }) => {
    const { claim: _, ...counts } = progress.progressOf(name);
    return { agent_id: name, state, ...counts, restarts, log: log.path };
  }),
  refused: progress.refused,
});

export function reportText(report: FleetReport, { paint, table }: CommandContext): string {
  const { agents, refused, worktrees, left } = report;
  const rows = table(agents, [
    { title: 'Agent', cell: ({ agent_id }) => agent_id },
    { title: 'State', cell: ({ state }) => stateText(state) },
    { title: 'Accepted', cell: ({ accepted }) => String(accepted) },
    { title: 'For a person', cell: ({ escalated }) => String(escalated) },
    { title: 'Refused', cell: ({ refused }) => String(refused) },
    { title: 'Failed', cell: ({ failed }) => String(failed) },
    { title: 'Lost', cell: ({ lost }) => String(lost) },
    { title: 'Released', cell: ({ released }) => String(released) },
    { title: 'Restarts', cell: ({ restarts }) => String(restarts) },
    { title: 'Log', cell: ({ log }) => log, is_flexible: true },
  ]);
  return [
    '',
    rows,
    ...section(paint.bold('Refused results'), firstLines(refused, SHOWN_MAX, refusedText)),
    ...section(paint.bold('Worktrees that are kept'), worktrees.map(worktreeText)),
    ...section(paint.bold('To bring the branches together'), mergeCommands(worktrees)),
    '',
    openWorkText(left),
  ].join('\n');
}

const refusedText = ({ agent_id, task_id, generation, reason, parked }: RefusedResult): string =>
  `${task_id}  ${agent_id}, generation ${generation}: ${reason}${parked === null ? '' : `, kept as ${parked}`}`;

function worktreeText({
  folder,
  branch,
  commits,
  has_other_checkout,
  has_uncommitted_changes,
}: KeptWorktree): string {
  const count = commits === null ? 'commits that git could not count' : countText(commits, 'commit');
  const checkout = has_other_checkout ? ', another branch or commit is checked out' : '';
  const changes = has_uncommitted_changes ? ', uncommitted changes' : '';
  return `${folder ?? '(removed)'}  branch ${branch}: ${count}${checkout}${changes}`;
}

const mergeCommands = (worktrees: readonly KeptWorktree[]): string[] =>
  worktrees.filter(({ commits }) => commits !== 0).map(({ branch }) => `git merge ${branch}`);
