import type { FileDiff } from '../../coordinator/methodology/file-diffs.js';
import type { LinkedReview } from '../../coordinator/methodology/review-links.js';
import type { PendingReview } from '../../core/contract/reviews.js';
import { linkReviewer, type ReviewLink } from '../../core/engine/review-link.js';

type Row = readonly [label: string, value: string];
type ReportedCheckLine = Readonly<Partial<Record<'name' | 'check' | 'type' | 'result', unknown>>>;

const CHECKS_MAX = 200;
const TEXT_CHARS_MAX = 2000;

/** The page that shows a candidate, with the form for the decision on it. All text that others wrote is escaped. */
export function reviewLinkPage(
  { link, review }: LinkedReview & { state: 'pending' },
  diffs: readonly FileDiff[],
  token: string,
): string {
  return pageHtml(
    'Review',
    `<h1>Review of ${escapedExcerpt(subjectNameOf(review))}</h1>
${tableOf(identityRows(link, review))}
${sectionHtml(
  'Checks for you',
  review.human_checks.map(({ name, criterion }) => escapedExcerpt(`${name}: ${criterion}`)),
)}
${sectionHtml(checksTitle(review), checkItems(review))}
${sectionHtml('The candidate cannot be approved: these required checks have not passed', failingItems(review))}
${sectionHtml(`Files (${review.file_count})`, fileItems(review))}
${diffs.length === 0 ? '' : `<h2>Changes</h2>\n${diffs.map(diffHtml).join('\n')}`}
<p>Your decision applies to exactly this candidate, and you can decide once.</p>
<form method="post" action="/reviews/link" autocomplete="off">
<input type="hidden" name="token" value="${escapedExcerpt(token)}">
<p><label for="comment">Comment for the agent</label><br>
<textarea id="comment" name="comment" rows="6" maxlength="4000"></textarea></p>
<p class="decisions">${approveButton(review)}
<button name="decision" value="CHANGES_REQUESTED">Request changes</button>
<button class="bad" name="decision" value="REJECTED">Reject</button></p>
</form>`,
  );
}

const approveButton = ({ failing = [] }: PendingReview): string =>
  failing.length > 0 ? '' : '<button class="good" name="decision" value="APPROVED">Approve</button>';

const failingItems = ({ failing = [] }: PendingReview): string[] =>
  failing.map(({ name, says }) => escapedExcerpt(`${name}: ${says}`));

/** A page that only shows a message. */
export const messagePage = (title: string, ...sentences: readonly string[]): string =>
  pageHtml(
    title,
    [`<h1>${escapedExcerpt(title)}</h1>`, ...sentences.map((each) => `<p>${escapedExcerpt(each)}</p>`)].join(
      '\n',
    ),
  );

const pageHtml = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapedExcerpt(title)}</title><link rel="stylesheet" href="/page.css"></head>
<body><main class="review">
${body}
</main></body>
</html>
`;

/** Text as the content of an element or of a quoted attribute. */
const escapeHtml = (value: string): string => value.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

const escapedExcerpt = (text: string): string => escapeHtml(text.slice(0, TEXT_CHARS_MAX));

const subjectNameOf = ({ feature_id, edge, task_id }: PendingReview): string =>
  feature_id === null ? task_id : `${feature_id} on ${edge}`;

function identityRows(link: ReviewLink, review: PendingReview): Row[] {
  const { agent_id, agent_role, generation, iteration, deadline } = review;
  return [
    ['Project', `${link.tenant_id}/${link.project_id}`],
    ['Candidate (SHA-256)', review.candidate_sha256],
    ['Product', review.work_product_ref ?? 'none'],
    ['From', `${agent_id}${agent_role === null ? '' : ` as ${agent_role}`}`],
    ['Generation, iteration', `${generation}, ${iteration}`],
    ['Reason', review.reason],
    ['Waiting since', utcText(review.since)],
    ...(deadline === null
      ? []
      : [['Deadline', `${utcText(deadline)}${review.overdue ? ' (passed)' : ''}`] as const]),
    ['You decide as', linkReviewer(link)],
    ['This link expires', utcText(new Date(link.expires_at_ms).toISOString())],
  ];
}

const tableOf = (rows: readonly Row[]): string =>
  `<table>\n${rows.map(([label, value]) => `<tr><th scope="row">${escapedExcerpt(label)}</th><td>${escapedExcerpt(value)}</td></tr>`).join('\n')}\n</table>`;

/** `items`: HTML. */
const sectionHtml = (title: string, items: readonly string[]): string =>
  items.length === 0
    ? ''
    : `<h2>${escapedExcerpt(title)}</h2>\n<ul>\n${items.map((item) => `<li>${item}</li>`).join('\n')}\n</ul>`;

/** `2026-01-04 06:00:00 UTC`, from ISO 8601. */
const utcText = (time: string): string => `${time.slice(0, 19).replace('T', ' ')} UTC`;

function checksTitle({ evaluators }: PendingReview): string {
  const { passed = 0, failed = 0, skipped = 0, total = 0 } = evaluators ?? {};
  return `Checks: ${passed} of ${total} passed, ${failed} failed, ${skipped} skipped`;
}

const RESULT_CLASSES: Readonly<Record<string, string>> = { pass: 'good', fail: 'bad' };

function checkItems({ evaluators }: PendingReview): string[] {
  const details = evaluators?.details;
  if (!Array.isArray(details) || details.length === 0) return ['No check has reported a result.'];
  const reports = details.slice(0, CHECKS_MAX) as readonly ReportedCheckLine[];
  return reports.map(({ name, check, type = '', result = '?' }) => {
    const style = RESULT_CLASSES[String(result)] ?? 'quiet';
    const shownType = type === '' ? '' : ` <span class="quiet">${escapedExcerpt(String(type))}</span>`;
    return `${escapedExcerpt(String(name ?? check ?? '?'))}: <span class="${style}">${escapedExcerpt(String(result))}</span>${shownType}`;
  });
}

const LINE_CLASSES: Readonly<Record<string, string>> = { '+': 'good', '-': 'bad', '@': 'quiet' };

/** The change of one file, as a unified diff. */
function diffHtml({ path, change, diff, note }: FileDiff): string {
  const notes = [change === 'changed' ? null : change, note].filter((each) => each !== null).join(', ');
  const heading = `<h3><code>${escapedExcerpt(path)}</code>${notes === '' ? '' : `: ${escapedExcerpt(notes)}`}</h3>`;
  return diff === null
    ? heading
    : `${heading}\n<pre class="diff">${diff.split('\n').map(diffLineHtml).join('\n')}</pre>`;
}

function diffLineHtml(line: string): string {
  const style = LINE_CLASSES[line.charAt(0)];
  return style === undefined ? escapeHtml(line) : `<span class="${style}">${escapeHtml(line)}</span>`;
}

const fileItems = ({ files }: PendingReview): string[] =>
  (files ?? []).map(
    ({ path, sha256, size_bytes }) =>
      `<code>${escapedExcerpt(path)}</code>, ${size_bytes} bytes<br><small class="quiet">SHA-256 <code>${escapedExcerpt(sha256)}</code></small>`,
  );
