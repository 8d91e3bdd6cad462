import { Option } from 'commander';
import type { PendingReview } from '../../coordinator/methodology/wire.js';
import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { candidateCopies } from '../edge/draft-copies.js';
import { removeWorktree } from '../edge/remove-worktree.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { type ProjectConnection, withMethodology } from '../methodology/project-connection.js';
import { reviewsText, reviewText } from '../output/review.js';
import { wrapLines } from '../output/wrap.js';
import { reportRefusal, unwrapReply } from '../replies.js';

interface ReviewOptions {
  readonly list?: true;
  readonly feature?: string;
  readonly edge?: string;
  readonly approve?: true;
  readonly reject?: true;
  readonly refine?: true;
  readonly comment?: string;
}

const DECISIONS = ['approve', 'reject', 'refine'] as const;
const DECISION_CODES = { approve: 'APPROVED', reject: 'REJECTED', refine: 'CHANGES_REQUESTED' } as const;

export const addReview: AddCommands = (program, wrapAction) => {
  const decisionOption = (name: (typeof DECISIONS)[number], description: string) =>
    new Option(`--${name}`, description).conflicts(DECISIONS.filter((other) => other !== name));
  program
    .command('review')
    .description('what waits for a human, and your word on it')
    .option('--list', 'all that waits (so does no option at all)')
    .option('--feature <id>', 'the feature whose candidate to look at')
    .option('--edge <edge>', 'its edge, where several wait')
    .addOption(decisionOption('approve', 'let exactly this candidate converge'))
    .addOption(decisionOption('reject', 'turn it down'))
    .addOption(decisionOption('refine', 'ask for changes'))
    .option('--comment <text>', 'what the agent should know')
    .addHelpText(
      'after',
      `
Examples:
  gen review
  gen review --feature REQ-F-AUTH-001 --edge design_code
  gen review --feature REQ-F-AUTH-001 --approve --comment "as agreed"

The candidate is shown before anything is decided, and the decision holds for that candidate alone: if another one
has come in meanwhile, it is refused.`,
    )
    .action(wrapAction(review));
};

async function review(context: CommandContext, options: ReviewOptions): Promise<void> {
  const decision = DECISIONS.find((each) => options[each] === true);
  if (decision === undefined && options.comment !== undefined)
    throw wrongUsage('A comment goes with a decision: --approve, --reject or --refine.');
  if (options.feature === undefined) return listPending(context, decision);
  await withMethodology(context, decision === undefined ? 'read' : 'write', async (connection) => {
    const { reviews } = unwrapReply(await connection.calls.reviews());
    const pending = selectReview(reviews, options);
    const text = reviewText(pending, await candidateCopies(connection.workspace, pending), context);
    if (!context.is_json) context.print(text);
    if (decision !== undefined)
      return decide(context, connection, pending, options, DECISION_CODES[decision]);
    if (context.is_json) context.printJson(pending);
    else
      context.print(
        ['', ...wrapLines(`Decide: ${pending.next} --approve|--reject|--refine`, 0, context.io.columns)].join(
          '\n',
        ),
      );
  });
}

async function listPending(context: CommandContext, decision: string | undefined): Promise<void> {
  if (decision !== undefined) throw wrongUsage('Which one? Say --feature ID. What waits: gen review --list');
  await withMethodology(context, 'read', async ({ calls }) => {
    const reply = unwrapReply(await calls.reviews());
    context.show(reply, ({ reviews }) => reviewsText(reviews, context));
  });
}

function selectReview(reviews: readonly PendingReview[], { feature, edge }: ReviewOptions): PendingReview {
  const edgeName = edge === undefined ? null : canonicalEdge(edge);
  const found = reviews.filter(
    (each) => each.feature_id === feature && (edgeName === null || each.edge === edgeName),
  );
  const [first, ...others] = found;
  if (first === undefined) {
    const subjectText = edgeName === null ? feature : `${feature} on ${edgeName}`;
    throw new CommandFailure(`Nothing of ${subjectText} waits for a review. What does: gen review --list`);
  }
  if (others.length > 0)
    throw wrongUsage(`Several wait: ${found.map((each) => each.edge).join(', ')}. Say which: --edge EDGE`);
  return first;
}

/** Sends the decision with the hash of the candidate that was shown, so that it cannot apply to another one. */
async function decide(
  context: CommandContext,
  { calls }: ProjectConnection,
  pending: PendingReview,
  { comment }: ReviewOptions,
  decision: (typeof DECISION_CODES)[keyof typeof DECISION_CODES],
): Promise<void> {
  const { task_id, generation, iteration, candidate_sha256 } = pending;
  const request = { task_id, generation, iteration, candidate_sha256, decision };
  const reply = unwrapReply(await calls.review(comment === undefined ? request : { ...request, comment }));
  if (!reply.success) return reportRefusal(context, reply, 'it is no longer the candidate that was shown');
  const isAccepted = decision === 'APPROVED' && pending.work_product_ref !== null;
  if (isAccepted) await removeWorktree(context, { ...pending, subject: task_id });
  if (context.is_json) context.printJson({ ...reply, review: pending });
  else
    context.print(`\n${context.paint.green(reply.reason)}. ${decisionEffect(decision, isAccepted, task_id)}`);
}

/**
 * What the decision does. Approval accepts an escalated result at once; after a review request the agent still has
 * to submit.
 */
function decisionEffect(decision: string, isAccepted: boolean, taskId: string): string {
  if (isAccepted) return 'The edge has converged with this candidate.';
  if (decision === 'APPROVED') return 'The agent may now hand in exactly this candidate.';
  if (decision === 'CHANGES_REQUESTED') return 'The claim goes on: the agent mends it and submits again.';
  return `The claim is taken back, and nobody can take the work before you say so: gen task unhold ${taskId} --reason TEXT`;
}
