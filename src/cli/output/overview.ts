import type { TaskClaim } from '../../core/contract/claim-records.js';
import type { AgentView, ProjectStatus } from '../../core/contract/overview.js';
import type { SessionRecord } from '../../core/contract/sessions.js';
import { trackPurpose } from '../../core/plan/tracks.js';
import type { CommandContext } from '../context.js';
import { paintState } from './paint.js';
import type { Column } from './table.js';
import { countText, formatUtc, section, singleLine } from './text.js';

export function statusText(status: ProjectStatus, context: CommandContext): string {
  const { paint, table } = context;
  const { project_id, position, last_updated, tracks, total, counts, parked } = status;
  const at = last_updated === null ? '' : `, ${formatUtc(last_updated)} UTC`;
  const progress = [...Object.entries(tracks), ['all', total] as const];
  const states = Object.entries(counts).filter(([, count]) => count > 0);
  return [
    `${paint.bold(project_id)}  position ${position}${at}`,
    '',
    table(progress, [
      { title: 'Track', cell: ([track]) => track },
      { title: 'Purpose', cell: ([track]) => trackPurpose(track) ?? '', is_flexible: true },
      { title: 'Completed', cell: ([, { completed }]) => String(completed) },
      { title: 'In progress', cell: ([, { in_progress }]) => String(in_progress) },
      { title: 'Pending', cell: ([, { pending }]) => String(pending) },
    ]),
    '',
    states.map(([state, count]) => `${count} ${paintState(paint, state)}`).join(', '),
    ...section(paint.bold('Claims'), claimLines(status, context)),
    ...section(paint.bold('Waiting'), waitingLines(status, context)),
    ...section(
      paint.bold('Parked results'),
      parked.map(
        (task) => `${task.task_id}  ${countText(task.parked, 'result')}: gen task history ${task.task_id}`,
      ),
    ),
  ].join('\n');
}

function claimLines({ claims }: ProjectStatus, { table }: CommandContext): string[] {
  if (claims.length === 0) return [];
  return [table(claims, claimColumns('Until (UTC)'))];
}

/** The columns of a table of claims; the last one is the end of the lease. */
const claimColumns = (endTitle: string): Column<TaskClaim>[] => [
  { title: 'Task', cell: ({ task_id }) => task_id, is_flexible: true },
  { title: 'Generation', cell: ({ generation }) => String(generation) },
  { title: 'Agent', cell: ({ agent_id }) => agent_id, is_flexible: true },
  { title: 'Session', cell: ({ session_id }) => session_id, is_flexible: true },
  { title: 'State', cell: ({ state }) => state },
  { title: endTitle, cell: ({ expires_at }) => formatUtc(expires_at), is_fixed: true },
];

function waitingLines({ waiting }: ProjectStatus, { table }: CommandContext): string[] {
  if (waiting.length === 0) return [];
  const rows = table(waiting, [
    { title: 'Task', cell: ({ task_id }) => task_id },
    { title: 'State', cell: ({ readiness }) => readiness },
    { title: 'Waits for', cell: ({ waits_for }) => waits_for, is_flexible: true },
    { title: 'Reason', cell: ({ reason }) => singleLine(reason), is_flexible: true },
  ]);
  return [rows];
}

export function agentsText(agents: readonly AgentView[], { table }: CommandContext): string {
  if (agents.length === 0) return 'No agent has worked on this project yet.';
  return table(agents, [
    { title: 'Agent', cell: ({ agent_id }) => agent_id },
    { title: 'Role', cell: ({ role }) => role ?? '' },
    { title: 'Holds', cell: ({ claims }) => claims.join(' '), is_flexible: true },
    { title: 'Completed', cell: ({ completed }) => String(completed) },
    { title: 'Rejected', cell: ({ rejected }) => String(rejected) },
    { title: 'Denied', cell: ({ denied }) => String(denied) },
    { title: 'Last seen (UTC)', cell: ({ last_activity }) => formatUtc(last_activity), is_fixed: true },
  ]);
}

export function sessionsText(sessions: readonly SessionRecord[], { table }: CommandContext): string {
  if (sessions.length === 0) return 'There are no sessions.';
  return table(sessions, [
    { title: 'Session', cell: ({ session_id }) => session_id, is_flexible: true },
    { title: 'Project', cell: ({ project_id }) => project_id, is_flexible: true },
    { title: 'User', cell: ({ user_id }) => user_id ?? '', is_flexible: true },
    { title: 'State', cell: ({ state }) => state },
    { title: 'Opened (UTC)', cell: ({ created_at }) => formatUtc(created_at), is_fixed: true },
    { title: 'Closed (UTC)', cell: ({ closed_at }) => formatUtc(closed_at ?? null), is_fixed: true },
  ]);
}

export function expiredText(
  claims: readonly TaskClaim[],
  next: string | null,
  { table }: CommandContext,
): string[] {
  if (claims.length === 0) return ['No claim has expired.'];
  const rows = table(claims, claimColumns('Ended (UTC)'));
  return next === null ? [rows] : [rows, `More: gen task expired --after ${next}`];
}
