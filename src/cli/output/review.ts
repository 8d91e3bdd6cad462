import type { PendingReview } from '../../coordinator/methodology/wire.js';
import type { CommandContext } from '../context.js';
import type { CandidateCopy } from '../edge/draft-copies.js';
import { table } from './table.js';
import { clockTime, countText, relativeTime, singleLine } from './text.js';
import { labelledLines, wrapLines } from './wrap.js';

const reviewName = ({ feature_id, edge, task_id }: PendingReview): string =>
  feature_id === null ? task_id : `${feature_id} on ${edge}`;

export function reviewsText(reviews: readonly PendingReview[], { io }: CommandContext): string {
  if (reviews.length === 0) return 'Nothing waits for a review.';
  const rows = table(
    reviews,
    [
      // Never truncated: the next command needs it.
      { head: 'Work', cell: reviewName },
      { head: 'Iteration', cell: ({ iteration }) => String(iteration) },
      { head: 'Agent', cell: ({ agent_id }) => agent_id, is_flexible: true },
      { head: 'Reason', cell: ({ reason }) => reason, is_flexible: true },
      { head: 'Waits since', cell: ({ since }) => relativeTime(since, Date.now()) },
    ],
    io.columns,
  );
  return `${rows}\n\nLook at one: gen review --feature ID --edge EDGE`;
}

/** The candidate to decide on: its identity, its agent, and the check reports. */
export function reviewText(
  review: PendingReview,
  copies: readonly CandidateCopy[],
  context: CommandContext,
): string {
  const { generation, iteration, candidate_sha256, work_product_ref, agent_id, agent_role } = review;
  const { io, paint } = context;
  const role = agent_role === null ? '' : ` as ${agent_role}`;
  const rows: [string, string][] = [
    ['candidate', candidate_sha256],
    ['product', work_product_ref ?? 'not named'],
    ['from', `${agent_id}${role}, generation ${generation}, iteration ${iteration}`],
    ['why', review.reason],
    ['since', `${clockTime(review.since)} UTC (${relativeTime(review.since, Date.now())})`],
  ];
  if (review.deadline !== null) rows.push(['until', `${clockTime(review.deadline)} UTC`]);
  return [
    paint.bold(reviewName(review)),
    ...rows.flatMap(([name, text]) => labelledLines(`  ${name}`, text, 13, io.columns)),
    ...fileLines(review, copies, context),
    ...humanLines(review, context),
    ...evaluatorLines(review, context),
  ].join('\n');
}

/** Lists every file by its path: the approval covers exactly these bytes. */
function fileLines(
  { files, file_count }: PendingReview,
  copies: readonly CandidateCopy[],
  { io, paint }: CommandContext,
): string[] {
  if (files === null) return [];
  const lines = ['', paint.bold(countText(file_count, 'file'))];
  for (const { path, size_bytes, sha256, draft, is_same } of copies) {
    lines.push(...wrapLines(`${path}  ${countText(size_bytes, 'byte')}`, 2, io.columns));
    lines.push(paint.dim(`    sha256 ${sha256}`));
    if (draft === null)
      lines.push(
        ...wrapLines(
          'no draft of it here: its bytes are the server’s blob of that name (GET …/blobs/SHA256)',
          4,
          io.columns,
        ),
      );
    else lines.push(`    ${singleLine(draft)}`);
    if (draft !== null && !is_same)
      lines.push(
        ...wrapLines('The draft was changed since: these are not the bytes to decide on.', 4, io.columns).map(
          paint.red,
        ),
      );
  }
  if (file_count > copies.length) lines.push(`  and ${file_count - copies.length} more`);
  return lines;
}

function humanLines({ human_checks }: PendingReview, { io, paint }: CommandContext): string[] {
  if (human_checks.length === 0) return [];
  const lines = human_checks.flatMap(({ name, criterion }) =>
    wrapLines(criterion === '' ? name : `${name}: ${criterion}`, 2, io.columns),
  );
  return ['', paint.bold('For you to check'), ...lines];
}

interface EvaluatorDetail {
  readonly name?: unknown;
  readonly check?: unknown;
  readonly type?: unknown;
  readonly result?: unknown;
}

function evaluatorLines({ evaluators }: PendingReview, { io, paint }: CommandContext): string[] {
  if (evaluators === null) return ['', paint.yellow('No evaluator has told of it.')];
  const { passed = 0, failed = 0, skipped = 0, total = 0, details } = evaluators;
  const counted = `${passed} of ${total} checks passed, ${failed} failed, ${skipped} skipped`;
  const lines = ['', Number(failed) > 0 ? paint.red(counted) : paint.green(counted)];
  for (const detail of Array.isArray(details) ? (details as readonly EvaluatorDetail[]) : []) {
    const { name, check, type = '', result = '?' } = detail;
    const sign = result === 'pass' ? paint.green('✓') : result === 'skip' ? paint.dim('-') : paint.red('✗');
    const text = singleLine(`${String(name ?? check ?? '?')}  ${String(type)} ${String(result)}`);
    lines.push(`  ${sign} ${text.slice(0, (io.columns ?? 1000) - 4)}`);
  }
  return lines;
}
