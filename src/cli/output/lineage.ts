import type { Lineage, ReviewEntry } from '../../core/contract/tasks.js';
import type { LineageTable } from '../../core/views/index.js';
import type { CommandContext } from '../context.js';
import { paintState } from './paint.js';
import { formatUtc, section } from './text.js';

/** The lineage table of specification 004 §9.2, followed by the refused results. */
export function lineageText(
  lineage: Lineage,
  { rows }: LineageTable,
  { paint, table, wrap }: CommandContext,
): string {
  const { task_id, generations, reviews, rejected } = lineage;
  if (rows.length === 0) return `${task_id} was never claimed.`;
  const errors = generations.flatMap(({ generation, agent_id, release_message: message }) =>
    message === undefined ? [] : wrap(`generation ${generation}, ${agent_id}: ${message}`, 2),
  );
  return [
    `${paint.bold(task_id)} in project ${generations[0]?.project_id ?? ''}`,
    '',
    table(rows, [
      { head: 'Generation', cell: ({ generation }) => String(generation), is_fixed: true },
      { head: 'Session', cell: ({ session }) => session, is_flexible: true },
      { head: 'Agent', cell: ({ agent }) => agent, is_flexible: true },
      { head: 'User', cell: ({ user }) => user ?? '', is_flexible: true },
      { head: 'Acquired', cell: ({ acquired }) => formatUtc(acquired), is_fixed: true },
      { head: 'Released', cell: ({ released }) => formatUtc(released), is_fixed: true },
      {
        head: 'Result',
        cell: ({ result }) => result,
        is_fixed: true,
        paint: (cell) => paintState(paint, cell),
      },
    ]),
    ...section('Released with an error:', errors),
    ...section(
      'Reviews:',
      reviews.flatMap((review) => wrap(reviewLine(review), 2)),
    ),
    ...section('Rejected submissions:', rejectedLines(rejected)),
  ].join('\n');
}

export function reviewLine({ decision, reviewer, iteration, comment, at }: ReviewEntry): string {
  const commentSuffix = comment === null ? '' : `: ${comment}`;
  return `${decision} by ${reviewer} at ${formatUtc(at)} UTC, iteration ${iteration}${commentSuffix}`;
}

const rejectedLines = (rejected: Lineage['rejected']): string[] =>
  rejected.map((result, index) => {
    const branch = index === rejected.length - 1 ? '└─' : '├─';
    const who = `${result.session_id}/${result.agent_id}`;
    const against = `generation ${result.generation}, current ${result.current_generation ?? '?'}`;
    const kept = result.parked ? `, kept as ${result.id}` : '';
    return `${branch} ${who} submitted at ${formatUtc(result.submitted_at)} → ${result.rejection_reason} (${against})${kept}`;
  });
