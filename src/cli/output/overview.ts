import type { SessionRecord } from '../../coordinator/operations/session.js';
import type { AgentView, ProjectStatus } from '../../core/views/index.js';
import type { CommandContext } from '../context.js';
import { paintState } from './paint.js';
import { table } from './table.js';
import { clockTime, countText, singleLine } from './text.js';

export function statusText(status: ProjectStatus, { io, paint }: CommandContext): string {
  const { project_id, position, last_updated, tracks, total, counts, claims, waiting, parked } = status;
  const width = io.columns;
  const lines = [
    `${paint.bold(project_id)}  position ${position}${last_updated === null ? '' : `, ${clockTime(last_updated)} UTC`}`,
  ];
  const rows = [...Object.entries(tracks), ['all', total] as const].map(([track, progress]) => ({
    track,
    ...progress,
  }));
  lines.push(
    '',
    table(
      rows,
      [
        { head: 'Track', cell: ({ track }) => track },
        { head: 'Completed', cell: ({ completed }) => String(completed) },
        { head: 'In progress', cell: ({ in_progress }) => String(in_progress) },
        { head: 'Pending', cell: ({ pending }) => String(pending) },
      ],
      width,
    ),
  );
  const states = Object.entries(counts).filter(([, number]) => number > 0);
  lines.push('', states.map(([state, number]) => `${number} ${paintState(paint, state)}`).join(', '));
  if (claims.length > 0) lines.push('', paint.bold('At work'), claimsTable(claims, width));
  if (waiting.length > 0) lines.push('', paint.bold('Waiting'), waitingTable(waiting, width));
  if (parked.length > 0) {
    lines.push('', paint.bold('Refused and kept'));
    for (const kept of parked)
      lines.push(`${kept.task_id}  ${countText(kept.parked, 'result')}: gen task history ${kept.task_id}`);
  }
  return lines.join('\n');
}

const claimsTable = (claims: ProjectStatus['claims'], width: number | null): string =>
  table(
    claims,
    [
      { head: 'Task', cell: ({ task_id }) => task_id, is_flexible: true },
      { head: 'Generation', cell: ({ generation }) => String(generation) },
      { head: 'Agent', cell: ({ agent_id }) => agent_id, is_flexible: true },
      { head: 'Session', cell: ({ session_id }) => session_id, is_flexible: true },
      { head: 'State', cell: ({ state }) => state },
      { head: 'Until (UTC)', cell: ({ expires_at }) => clockTime(expires_at) },
    ],
    width,
  );

const waitingTable = (waiting: ProjectStatus['waiting'], width: number | null): string =>
  table(
    waiting,
    [
      { head: 'Task', cell: ({ task_id }) => task_id },
      { head: 'State', cell: ({ readiness }) => readiness },
      { head: 'Waits for', cell: ({ waits_for }) => waits_for, is_flexible: true },
      { head: 'Because', cell: ({ reason }) => singleLine(reason), is_flexible: true },
    ],
    width,
  );

export function agentsText(agents: readonly AgentView[], { io }: CommandContext): string {
  if (agents.length === 0) return 'Nobody has worked here yet.';
  return table(
    agents,
    [
      { head: 'Agent', cell: ({ agent_id }) => agent_id },
      { head: 'Role', cell: ({ role }) => role ?? '' },
      { head: 'Holds', cell: ({ claims }) => claims.join(' '), is_flexible: true },
      { head: 'Completed', cell: ({ completed }) => String(completed) },
      { head: 'Rejected', cell: ({ rejected }) => String(rejected) },
      { head: 'Denied', cell: ({ denied }) => String(denied) },
      { head: 'Last seen (UTC)', cell: ({ last_activity }) => clockTime(last_activity) },
    ],
    io.columns,
  );
}

export function sessionsText(sessions: readonly SessionRecord[], { io }: CommandContext): string {
  if (sessions.length === 0) return 'No session was ever opened.';
  return table(
    sessions,
    [
      { head: 'Session', cell: ({ session_id }) => session_id, is_flexible: true },
      { head: 'Project', cell: ({ project_id }) => project_id, is_flexible: true },
      { head: 'User', cell: ({ user_id }) => user_id ?? '', is_flexible: true },
      { head: 'State', cell: ({ state }) => state },
      { head: 'Opened (UTC)', cell: ({ created_at }) => clockTime(created_at) },
      { head: 'Closed (UTC)', cell: ({ closed_at }) => clockTime(closed_at ?? null) },
    ],
    io.columns,
  );
}
