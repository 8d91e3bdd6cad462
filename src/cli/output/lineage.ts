import type { ReviewEntry } from '../../core/contract/reviews.js';
import type { ClaimHistory, Lineage } from '../../core/contract/tasks.js';
import type { LineageTable } from '../../core/views/index.js';
import type { CommandContext } from '../context.js';
import { paintState } from './paint.js';
import { formatUtc, section } from './text.js';

/** The lineage table of specification 004 §9.2, followed by errors, adopted results, reviews and refused results. */
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
  const adopted = generations.flatMap(({ generation, adopted_from: from }) =>
    from === null ? [] : wrap(`generation ${generation}: ${originText(from)}`, 2),
  );
  return [
    `${paint.bold(task_id)} in project ${generations[0]?.project_id ?? ''}`,
    '',
    table(rows, [
      { title: 'Generation', cell: ({ generation }) => String(generation), is_fixed: true },
      { title: 'Session', cell: ({ session }) => session, is_flexible: true },
      { title: 'Agent', cell: ({ agent }) => agent, is_flexible: true },
      { title: 'User', cell: ({ user }) => user ?? '', is_flexible: true },
      { title: 'Acquired', cell: ({ acquired }) => formatUtc(acquired), is_fixed: true },
      { title: 'Released', cell: ({ released }) => formatUtc(released), is_fixed: true },
      {
        title: 'Result',
        cell: ({ result }) => result,
        is_fixed: true,
        paint: (cell) => paintState(paint, cell),
      },
    ]),
    ...section('Released with an error:', errors),
    ...section('Adopted results:', adopted),
    ...section(
      'Reviews:',
      reviews.flatMap((review) => wrap(reviewLine(review), 2)),
    ),
    ...section('Rejected submissions:', rejectedLines(rejected)),
  ].join('\n');
}

export function reviewLine({ decision, reviewer, pushed_by, iteration, comment, at }: ReviewEntry): string {
  const pushed = pushed_by === undefined ? '' : ` (according to ${pushed_by}, who pushed it)`;
  const commentSuffix = comment === null ? '' : `: ${comment}`;
  return `${decision} by ${reviewer}${pushed} at ${formatUtc(at)} UTC, iteration ${iteration}${commentSuffix}`;
}

function originText(from: NonNullable<ClaimHistory['adopted_from']>): string {
  if (!('imported' in from))
    return `parked result ${from.result_id} of generation ${from.generation}, by ${from.session_id}/${from.agent_id}`;
  const source = from.source === undefined ? '' : ` of ${from.source}`;
  return `imported event ${from.event_id}${source} at position ${from.position}`;
}

const rejectedLines = (rejected: Lineage['rejected']): string[] =>
  rejected.map((result, index) => {
    const branch = index === rejected.length - 1 ? '└─' : '├─';
    const who = `${result.session_id}/${result.agent_id}`;
    const against = `generation ${result.generation}, current ${result.current_generation ?? '?'}`;
    const parkedText = result.parked ? `, kept as ${result.id}` : '';
    return `${branch} ${who} submitted at ${formatUtc(result.submitted_at)} → ${result.rejection_reason} (${against})${parkedText}`;
  });
