import type { PendingReview } from '../../core/contract/reviews.js';
import type { RunSummary } from '../../core/contract/runs.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { candidateDiffs } from '../edge/candidate-diff.js';
import { removeWorktree } from '../edge/edge-grant.js';
import { findReviewedDrafts } from '../edge/reviewed-drafts.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { type ProjectConnection, withMethodology } from '../methodology/project-connection.js';
import { parseDays } from '../option-parsers.js';
import { proposalText, reviewsText, reviewText } from '../output/review.js';
import { formatUtc } from '../output/text.js';
import { reportRefusal, unwrapReply } from '../replies.js';

const DECISION_CODES = { approve: 'APPROVED', reject: 'REJECTED', refine: 'CHANGES_REQUESTED' } as const;
const DECISIONS = ['approve', 'reject', 'refine'] as const;

const link = defineCommand('link <feature>', {
  description: 'create a link with which a person decides on a candidate without a key',
  options: {
    '--edge <edge>': 'edge to review, if several are pending',
    '--for <name>': 'name of the reviewer, such as an e-mail address; the decision is recorded as link:NAME',
    '--days <number>': {
      about: 'days until the link expires (default: the deadline of the review)',
      parse: parseDays,
    },
  },
  help: `
Examples:
  gen review link REQ-F-AUTH-001 --edge design_code --for rita@example.com
  gen review link REQ-F-AUTH-001 --for rita@example.com --days 2 --url https://fleet.example.com

Anyone with the link can decide, so send it only to the reviewer. The link applies to the candidate that waits now, and
works once. Opening the link changes nothing.`,
  async run(context, feature, { edge, for: reviewer, days }) {
    if (reviewer === undefined)
      throw wrongUsage('A link is for one person. Pass --for NAME, such as an e-mail address.');
    await withMethodology(context, 'write', async ({ calls, workspace }) => {
      const { reviews } = unwrapReply(await calls.reviews());
      const { task_id } = selectReview(reviews, feature, edge);
      const request = { task_id, reviewer, ...withoutUndefined({ valid_days: days }) };
      const reply = unwrapReply(await calls.createReviewLink(request));
      const isServed = workspace === null || context.explicitUrl !== null;
      const url = isServed ? `${context.url.replace(/\/$/, '')}${reply.path}` : null;
      context.printReply({ ...reply, url }, ({ path, expires_at, candidate_sha256 }) => [
        ...(url === null
          ? [path, 'Put the address of the server of this workspace (gen up) before this path.']
          : [url]),
        `For ${reviewer}, candidate ${candidate_sha256}, until ${formatUtc(expires_at)} UTC.`,
      ]);
    });
  },
});

export const reviewCommand = defineCommand('review', {
  description: 'list pending reviews, show a candidate and decide on it',
  options: {
    '--list': 'list all pending reviews (default)',
    '--proposal <id>': 'proposed tasks of an agent; --approve adds them to the plan',
    '--feature <id>': 'feature to review',
    '--edge <edge>': 'edge to review, if several are pending',
    '--approve': { about: 'approve exactly this candidate', conflicts: ['reject', 'refine'] },
    '--reject': { about: 'reject the candidate and hold the work', conflicts: ['approve', 'refine'] },
    '--refine': { about: 'request changes', conflicts: ['approve', 'reject'] },
    '--comment <text>': 'comment for the agent',
  },
  help: `
Examples:
  gen review
  gen review --feature REQ-F-AUTH-001 --edge design_code
  gen review --feature REQ-F-AUTH-001 --approve --comment "as agreed"
  gen review link REQ-F-AUTH-001 --edge design_code --for rita@example.com
  gen review --proposal prop_0123456789abcdef01234567 --approve

The candidate is shown before the decision, and the decision applies to that candidate only: it is refused if
another candidate was submitted meanwhile.`,
  subcommands: [link],
  async run(context, { feature, edge, comment, proposal, ...options }) {
    const decision = DECISIONS.find((each) => options[each]);
    if (decision === undefined && comment !== undefined)
      throw wrongUsage('--comment requires a decision. Pass --approve, --reject or --refine.');
    if (proposal !== undefined) return reviewProposal(context, proposal, decision, comment);
    if (feature === undefined) return listPending(context, decision);
    await withMethodology(context, decision === undefined ? 'read' : 'write', async (connection) => {
      const { reviews } = unwrapReply(await connection.calls.reviews());
      const pending = selectReview(reviews, feature, edge);
      const drafts = await findReviewedDrafts(connection.workspace, pending);
      const diffs = await candidateDiffs(connection.workspace, pending, connection.blob);
      if (!context.is_json) context.print(reviewText(pending, drafts, diffs, context));
      if (decision !== undefined)
        return decide(context, connection, pending, comment, DECISION_CODES[decision]);
      const run = await runOf(connection, pending);
      context.printReply({ ...pending, diffs }, () => ['', ...howToDecide(pending, run, context)]);
    });
  },
});

/** The last run of the edge; undefined if it has had none, because agents work on it by hand. */
async function runOf(
  { calls }: ProjectConnection,
  { feature_id, task_id }: PendingReview,
): Promise<RunSummary | undefined> {
  const { runs } = unwrapReply(await calls.runs(withoutUndefined({ feature: feature_id ?? undefined })));
  return runs.find((each) => each.task_id === task_id);
}

/** How a person can decide. A candidate whose checks have not passed cannot be approved. */
function howToDecide(
  { next, failing = [] }: PendingReview,
  run: RunSummary | undefined,
  { wrap }: CommandContext,
): string[] {
  if (failing.length === 0) return wrap(`Decide: ${next} --approve|--reject|--refine`, 0);
  return [
    ...(run === undefined ? [] : wrap(`What was tried: ${genCommand('runs', 'show', run.run_id)}`, 0)),
    ...wrap(
      'The candidate cannot be approved: an approval does not replace checks. Request changes, or reject it:',
      0,
    ),
    // The commands are not wrapped, because they are to be copied.
    `  ${next} --refine --comment TEXT`,
    `  ${next} --reject`,
  ];
}

async function listPending(context: CommandContext, decision: string | undefined): Promise<void> {
  if (decision !== undefined)
    throw wrongUsage('A decision requires --feature ID or --proposal ID. Pending reviews: gen review --list');
  await withMethodology(context, 'read', async ({ calls }) => {
    const reply = unwrapReply(await calls.reviews());
    context.printReply(reply, ({ reviews, proposals }) => reviewsText(reviews, proposals, context));
  });
}

/** Shows the proposed tasks, and decides on them. */
async function reviewProposal(
  context: CommandContext,
  proposalId: string,
  decision: (typeof DECISIONS)[number] | undefined,
  comment: string | undefined,
): Promise<void> {
  if (decision === 'refine')
    throw wrongUsage(
      '--refine is not possible for proposed tasks. Pass --approve, or --reject --comment TEXT.',
    );
  if (decision === undefined) {
    return withMethodology(context, 'read', async ({ calls }) => {
      const { proposals } = unwrapReply(await calls.reviews());
      const pending = proposals.find(({ proposal_id }) => proposal_id === proposalId);
      if (pending === undefined)
        throw new CommandFailure(`No proposal ${proposalId} is pending. Pending reviews: gen review --list`);
      context.printReply(pending, () => proposalText(pending, context));
    });
  }
  await withMethodology(context, 'write', async ({ calls }) => {
    const request = { proposal_id: proposalId, decision, ...withoutUndefined({ comment }) };
    const reply = unwrapReply(await calls.decideProposal(request));
    context.printReply(reply, ({ version, added, changed }) =>
      decision === 'approve'
        ? `Approved: plan version ${version}, ${added} added, ${changed} changed.`
        : 'Rejected: the plan is unchanged. The agent gets this decision when it proposes the tasks again.',
    );
  });
}

function selectReview(
  reviews: readonly PendingReview[],
  feature: string,
  edge: string | undefined,
): PendingReview {
  const edgeName = edge === undefined ? null : canonicalEdge(edge);
  const reviewsOfFeature = reviews.filter(({ feature_id }) => feature_id === feature);
  const matching =
    edgeName === null ? reviewsOfFeature : reviewsOfFeature.filter((each) => each.edge === edgeName);
  const [first, ...others] = matching;
  const name = edgeName === null ? feature : `${feature} on ${edgeName}`;
  if (first === undefined)
    throw new CommandFailure(`No review of ${name} is pending. Pending reviews: gen review --list`);
  if (others.length === 0) return first;
  const edges = matching.map((each) => each.edge).join(', ');
  throw wrongUsage(`${feature} has several pending reviews: ${edges}. Pass one with --edge EDGE.`);
}

/** Sends the decision with the hash of the candidate that was shown, so that it cannot apply to another candidate. */
async function decide(
  context: CommandContext,
  connection: ProjectConnection,
  pending: PendingReview,
  comment: string | undefined,
  decision: (typeof DECISION_CODES)[keyof typeof DECISION_CODES],
): Promise<void> {
  const { task_id, generation, iteration, candidate_sha256 } = pending;
  const candidate = { task_id, generation, iteration, candidate_sha256 };
  const reply = unwrapReply(
    await connection.calls.review({ ...candidate, decision, ...withoutUndefined({ comment }) }),
  );
  if (!reply.success) {
    const isStale = reply.reason === 'STALE_REVIEW';
    return reportRefusal(context, reply, isStale ? 'the candidate has changed since it was shown.' : '');
  }
  const isAccepted = decision === 'APPROVED' && pending.work_product_ref !== null;
  if (isAccepted) await removeWorktree(context, pending);
  const run = await runOf(connection, pending);
  const isAboutRun = run?.decision === decision || run?.status === 'REQUESTED';
  context.printReply({ ...reply, review: pending }, () => [
    '',
    `${context.paint.green(reply.reason)}. ${decisionEffect(decision, isAccepted, task_id)}`,
    ...nextLines(decision, isAccepted, task_id, isAboutRun ? run : undefined),
  ]);
}

/**
 * The next command, if there is one. The text of a rejection already names it. After an accepted result there is one only if
 * the run has not recorded its end.
 */
function nextLines(
  decision: string,
  isAccepted: boolean,
  taskId: string,
  run: RunSummary | undefined,
): string[] {
  if (decision === 'REJECTED') return [];
  if (run !== undefined)
    return isAccepted && run.status !== 'WAITING' ? [] : [`Continue: ${genCommand('iterate', taskId)}`];
  const isToSubmit = decision === 'APPROVED' && !isAccepted;
  return isToSubmit ? [`Submit it: ${genCommand('task', 'submit', taskId, '--drafts')}`] : [];
}

/** The effect of a decision. Approval accepts an escalated result at once; after a review request the agent has to submit. */
function decisionEffect(decision: string, isAccepted: boolean, taskId: string): string {
  if (isAccepted) return 'The edge has converged with this candidate.';
  if (decision === 'APPROVED') return 'The agent may now submit exactly this candidate.';
  if (decision === 'CHANGES_REQUESTED') return 'The claim continues: the agent revises and submits again.';
  return `The claim has ended and the work is on hold. To allow claims again: ${genCommand('task', 'unhold', taskId, '--reason', 'TEXT')}`;
}
