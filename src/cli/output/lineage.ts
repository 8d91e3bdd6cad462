import type { Lineage, LineageRow, LineageTable, ReviewEntry } from '../../core/views/index.js';
import type { CommandContext } from '../context.js';
import { paintState } from './paint.js';
import { type Column, table } from './table.js';
import { clockTime } from './text.js';
import { wrapLines } from './wrap.js';

/** The lineage table of seed 004 §9.2, followed by the refused results. */
export function lineageText(lineage: Lineage, { rows }: LineageTable, { io, paint }: CommandContext): string {
  const columns: Column<LineageRow>[] = [
    { head: 'Generation', cell: ({ generation }) => String(generation) },
    { head: 'Session', cell: ({ session }) => session, is_flexible: true },
    { head: 'Agent', cell: ({ agent }) => agent, is_flexible: true },
    { head: 'User', cell: ({ user }) => user ?? '', is_flexible: true },
    { head: 'Acquired', cell: ({ acquired }) => clockTime(acquired) },
    { head: 'Released', cell: ({ released }) => clockTime(released) },
    { head: 'Result', cell: ({ result }) => result, paint: (cell) => paintState(paint, cell) },
  ];
  const title = `${paint.bold(lineage.task_id)} in project ${lineage.generations[0]?.project_id ?? ''}`;
  if (rows.length === 0) return `${lineage.task_id} was never claimed.`;
  const detailLines = [...errorLines(lineage, io.columns), ...reviewLines(lineage.reviews, io.columns)];
  return [title, '', table(rows, columns, io.columns), ...detailLines, ...rejectedLines(lineage)].join('\n');
}

function errorLines({ generations }: Lineage, width: number | null): string[] {
  const failed = generations.flatMap(({ generation, agent_id, release_message }) =>
    release_message === undefined
      ? []
      : wrapLines(`generation ${generation}, ${agent_id}: ${release_message}`, 2, width),
  );
  return failed.length === 0 ? [] : ['', 'Given back because:', ...failed];
}

function reviewLines(reviews: Lineage['reviews'], width: number | null): string[] {
  if (reviews.length === 0) return [];
  return ['', 'Reviews:', ...reviews.flatMap((review) => wrapLines(reviewLine(review), 2, width))];
}

/** A human decision with its comment. */
export function reviewLine({ decision, reviewer, iteration, comment, at }: ReviewEntry): string {
  const commentSuffix = comment === null ? '' : `: ${comment}`;
  return `${decision} by ${reviewer} at ${clockTime(at)} UTC, iteration ${iteration}${commentSuffix}`;
}

function rejectedLines({ rejected }: Lineage): string[] {
  if (rejected.length === 0) return [];
  const lines = rejected.map((result, at) => {
    const branch = at === rejected.length - 1 ? '└─' : '├─';
    const who = `${result.session_id}/${result.agent_id}`;
    const against = `generation ${result.generation}, current ${result.current_generation ?? '?'}`;
    const kept = result.parked ? `, kept as ${result.id}` : '';
    return `${branch} ${who} submitted at ${clockTime(result.submitted_at)} → ${result.rejection_reason} (${against})${kept}`;
  });
  return ['', 'Rejected submissions:', ...lines];
}
