import type { PendingReview } from '../../coordinator/methodology/wire.js';
import type { Context } from '../context.js';
import { table } from './table.js';
import { clockTime, distance, plainText } from './text.js';
import { named } from './wrap.js';

const nameOf = ({ feature_id, edge, task_id }: PendingReview): string =>
  feature_id === null ? task_id : `${feature_id} on ${edge}`;

export function reviewsText(reviews: readonly PendingReview[], { io }: Context): string {
  if (reviews.length === 0) return 'Nothing waits for a review.';
  const rows = table(
    reviews,
    [
      // Whole: the next command is made of it.
      { head: 'Work', cell: nameOf },
      { head: 'Iteration', cell: ({ iteration }) => String(iteration) },
      { head: 'Agent', cell: ({ agent_id }) => agent_id, is_flexible: true },
      { head: 'Reason', cell: ({ reason }) => reason, is_flexible: true },
      { head: 'Waits since', cell: ({ since }) => distance(since, Date.now()) },
    ],
    io.columns,
  );
  return `${rows}\n\nLook at one: gen review --feature ID --edge EDGE`;
}

/** What a decision would be about: which candidate, whose, and what was said of it. */
export function reviewText(review: PendingReview, files: readonly string[], context: Context): string {
  const { generation, iteration, candidate_sha256, work_product_ref, agent_id, agent_role } = review;
  const { io, paint } = context;
  const role = agent_role === null ? '' : ` as ${agent_role}`;
  const told: [string, string][] = [
    ['candidate', candidate_sha256],
    ['product', work_product_ref ?? 'not named'],
    ['from', `${agent_id}${role}, generation ${generation}, iteration ${iteration}`],
    ['why', review.reason],
    ['since', `${clockTime(review.since)} UTC (${distance(review.since, Date.now())})`],
  ];
  if (review.deadline !== null) told.push(['until', `${clockTime(review.deadline)} UTC`]);
  if (files.length > 0) told.push(['files', files.join(', ')]);
  return [
    paint.bold(nameOf(review)),
    ...told.flatMap(([name, text]) => named(`  ${name}`, text, 13, io.columns)),
    ...evaluatorLines(review, context),
  ].join('\n');
}

interface Detail {
  readonly name?: unknown;
  readonly check?: unknown;
  readonly type?: unknown;
  readonly result?: unknown;
}

function evaluatorLines({ evaluators }: PendingReview, { io, paint }: Context): string[] {
  if (evaluators === null) return ['', paint.yellow('No evaluator has told of it.')];
  const { passed = 0, failed = 0, skipped = 0, total = 0, details } = evaluators;
  const counted = `${passed} of ${total} checks passed, ${failed} failed, ${skipped} skipped`;
  const lines = ['', Number(failed) > 0 ? paint.red(counted) : paint.green(counted)];
  for (const detail of Array.isArray(details) ? (details as readonly Detail[]) : []) {
    const { name, check, type = '', result = '?' } = detail;
    const sign = result === 'pass' ? paint.green('✓') : result === 'skip' ? paint.dim('-') : paint.red('✗');
    const text = plainText(`${String(name ?? check ?? '?')}  ${String(type)} ${String(result)}`);
    lines.push(`  ${sign} ${text.slice(0, (io.columns ?? 1000) - 4)}`);
  }
  return lines;
}
