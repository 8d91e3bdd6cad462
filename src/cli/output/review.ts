import type { FileDiff } from '../../coordinator/methodology/file-diffs.js';
import type { PendingProposal, PendingReview } from '../../core/contract/reviews.js';
import type { CommandContext } from '../context.js';
import type { ReviewedDraft } from '../edge/reviewed-drafts.js';
import { countText, formatUtc, relativeTime, section, singleLine } from './text.js';

const reviewName = ({ feature_id, edge, task_id }: PendingReview): string =>
  feature_id === null ? task_id : `${feature_id} on ${edge}`;

export function reviewsText(
  reviews: readonly PendingReview[],
  proposals: readonly PendingProposal[],
  context: CommandContext,
): string {
  if (reviews.length + proposals.length === 0) return 'No reviews are pending.';
  const parts = [
    ...(reviews.length === 0 ? [] : [candidatesText(reviews, context)]),
    ...(proposals.length === 0 ? [] : [proposalsText(proposals, context)]),
  ];
  return parts.join('\n\n');
}

function proposalsText(proposals: readonly PendingProposal[], { table }: CommandContext): string {
  const rows = table(proposals, [
    { title: 'Proposed tasks', cell: ({ proposal_id }) => proposal_id, is_fixed: true },
    { title: 'Agent', cell: ({ proposed_by }) => proposed_by, is_flexible: true },
    { title: 'Tasks', cell: ({ tasks }) => String(tasks.length) },
    { title: 'Pending since', cell: ({ since }) => relativeTime(since, Date.now()) },
  ]);
  return `${rows}\n\nShow one: gen review --proposal ID`;
}

/** The proposed tasks, as an approval would add them. */
export function proposalText(
  { proposal_id, tasks, proposed_by, next }: PendingProposal,
  { wrap }: CommandContext,
) {
  const lines = tasks.flatMap((task) => wrap(JSON.stringify(task), 2));
  return [`${proposal_id}, by ${proposed_by}:`, ...lines, '', `Decide: ${next} --approve|--reject`].join(
    '\n',
  );
}

function candidatesText(reviews: readonly PendingReview[], { table }: CommandContext): string {
  const rows = table(reviews, [
    // Never truncated: the next command needs the whole name.
    { title: 'Work', cell: reviewName, is_fixed: true },
    { title: 'Agent', cell: ({ agent_id }) => agent_id, is_flexible: true },
    { title: 'Reason', cell: ({ reason }) => reason, is_flexible: true },
    { title: 'Since', cell: pendingSince, is_fixed: true },
  ]);
  const failed = reviews.filter(({ notice_failed }) => notice_failed !== null).map(failedNoticeText);
  return `${[rows, ...failed].join('\n')}\n\nShow one: gen review --feature ID --edge EDGE`;
}

const pendingSince = ({ since, overdue }: PendingReview): string =>
  `${relativeTime(since, Date.now())}${overdue ? ', overdue' : ''}`;

const failedNoticeText = (review: PendingReview): string =>
  `${reviewName(review)}: ${review.notice_failed?.host} was not notified (${review.notice_failed?.error}).`;

/** The candidate to decide on: its identity, its agent, and the check reports. */
export function reviewText(
  review: PendingReview,
  drafts: readonly ReviewedDraft[],
  diffs: readonly FileDiff[],
  context: CommandContext,
): string {
  const { generation, iteration, candidate_sha256, work_product_ref, agent_id, agent_role } = review;
  const { paint, wrap } = context;
  const role = agent_role === null ? '' : ` as ${agent_role}`;
  const rows: [string, string][] = [
    ['candidate', candidate_sha256],
    ...(work_product_ref === null ? [] : ([['product', work_product_ref]] as [string, string][])),
    ['from', `${agent_id}${role}, generation ${generation}, iteration ${iteration}`],
    ['reason', review.reason],
    ['since', `${formatUtc(review.since)} UTC (${relativeTime(review.since, Date.now())})`],
  ];
  if (review.deadline !== null) {
    const passed = review.overdue ? ' (passed: the review can still be decided)' : '';
    rows.push(['deadline', `${formatUtc(review.deadline)} UTC${passed}`]);
  }
  if (review.notice_failed !== null) {
    const { host, error } = review.notice_failed;
    rows.push(['notice', `not delivered to ${host}: ${error}`]);
  }
  const humanLines = review.human_checks.flatMap(({ name, criterion }) =>
    wrap(criterion === '' ? name : `${name}: ${criterion}`, 2),
  );
  const failingLines = (review.failing ?? []).flatMap(({ name, says }) => wrap(`${name}: ${says}`, 2));
  return [
    paint.bold(reviewName(review)),
    ...rows.flatMap(([name, text]) => context.labelled(`  ${name}`, text, 13)),
    ...fileLines(review, drafts, context),
    ...diffs.flatMap((diff) => diffLines(diff, context)),
    ...section(paint.bold('Checks for the reviewer'), humanLines),
    ...section(paint.bold('Required checks that have not passed'), failingLines),
    ...evaluatorLines(review, context),
  ].join('\n');
}

/** Lists the files by path and digest, because the approval covers exactly these bytes. Says how many more there are. */
function fileLines(
  { files, file_count }: PendingReview,
  drafts: readonly ReviewedDraft[],
  { paint, wrap }: CommandContext,
): string[] {
  if (files === null) return [];
  const draftLines = ({ draft, is_same }: ReviewedDraft): string[] => {
    if (draft === null)
      return wrap('no draft in this workspace: get the content from the server (GET …/blobs/SHA256)', 4);
    const changed = 'The draft has changed since: it is not the content under review.';
    return [`    ${singleLine(draft)}`, ...(is_same ? [] : wrap(changed, 4).map(paint.red))];
  };
  return [
    '',
    paint.bold(countText(file_count, 'file')),
    ...drafts.flatMap((draft) => [
      ...wrap(`${draft.path}  ${countText(draft.size_bytes, 'byte')}`, 2),
      paint.dim(`    sha256 ${draft.sha256}`),
      ...draftLines(draft),
    ]),
    ...(file_count > drafts.length ? [`  and ${file_count - drafts.length} more`] : []),
  ];
}

/** The change of one file, as `diff` and git write it. */
function diffLines({ path, change, diff, note }: FileDiff, { paint }: CommandContext): string[] {
  const name = singleLine(path);
  if (change === 'same') return ['', paint.dim(`${name}: equal to the file in the project`)];
  const shown = note === null ? [] : [paint.dim(`${name}: ${note}`)];
  if (diff === null) return ['', ...shown];
  const colouredLine = (line: string): string =>
    line.startsWith('+') ? paint.green(line) : line.startsWith('-') ? paint.red(line) : line;
  const heads = [`--- ${change === 'added' ? '/dev/null' : `a/${name}`}`, `+++ b/${name}`];
  return ['', ...heads.map(paint.bold), ...diff.split('\n').map(colouredLine), ...shown];
}

type EvaluatorDetail = Readonly<Partial<Record<'name' | 'check' | 'type' | 'result', unknown>>>;

function evaluatorLines({ evaluators }: PendingReview, { io, paint }: CommandContext): string[] {
  if (evaluators === null) return ['', paint.yellow('No evaluator has reported results.')];
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
