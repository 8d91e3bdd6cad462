import { Option } from 'commander';
import type { PendingReview } from '../../coordinator/methodology/wire.js';
import { canonicalEdge } from '../../core/graph/edge-name.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { candidateCopies } from '../edge/draft-copies.js';
import { endWork } from '../edge/end-work.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { type Door, withMethodology } from '../methodology/door.js';
import { reviewsText, reviewText } from '../output/review.js';
import { wrapped } from '../output/wrap.js';
import { expected, refuse } from '../replies.js';

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
const DECIDED = { approve: 'APPROVED', reject: 'REJECTED', refine: 'CHANGES_REQUESTED' } as const;

export const addReview: AddCommands = (program, act) => {
  const oneOf = (name: (typeof DECISIONS)[number], does: string) =>
    new Option(`--${name}`, does).conflicts(DECISIONS.filter((other) => other !== name));
  program
    .command('review')
    .description('what waits for a human, and your word on it')
    .option('--list', 'all that waits (so does no option at all)')
    .option('--feature <id>', 'the feature whose candidate to look at')
    .option('--edge <edge>', 'its edge, where several wait')
    .addOption(oneOf('approve', 'let exactly this candidate converge'))
    .addOption(oneOf('reject', 'turn it down'))
    .addOption(oneOf('refine', 'ask for changes'))
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
    .action(act(review));
};

async function review(context: Context, options: ReviewOptions): Promise<void> {
  const decision = DECISIONS.find((each) => options[each] === true);
  if (decision === undefined && options.comment !== undefined)
    throw wrongUsage('A comment goes with a decision: --approve, --reject or --refine.');
  if (options.feature === undefined) return listOrAsk(context, decision);
  await withMethodology(context, decision === undefined ? 'read' : 'write', async (door) => {
    const { reviews } = expected(await door.calls.reviews());
    const pending = theOne(reviews, options);
    const shown = reviewText(pending, await candidateCopies(door.workspace, pending), context);
    if (!context.is_json) context.print(shown);
    if (decision !== undefined) return decide(context, door, pending, options, DECIDED[decision]);
    if (context.is_json) context.printJson(pending);
    else
      context.print(
        ['', ...wrapped(`Decide: ${pending.next} --approve|--reject|--refine`, 0, context.io.columns)].join(
          '\n',
        ),
      );
  });
}

async function listOrAsk(context: Context, decision: string | undefined): Promise<void> {
  if (decision !== undefined) throw wrongUsage('Which one? Say --feature ID. What waits: gen review --list');
  await withMethodology(context, 'read', async ({ calls }) => {
    const reply = expected(await calls.reviews());
    context.show(reply, ({ reviews }) => reviewsText(reviews, context));
  });
}

function theOne(reviews: readonly PendingReview[], { feature, edge }: ReviewOptions): PendingReview {
  const at = edge === undefined ? null : canonicalEdge(edge);
  const found = reviews.filter((each) => each.feature_id === feature && (at === null || each.edge === at));
  const [first, ...others] = found;
  if (first === undefined) {
    const what = at === null ? feature : `${feature} on ${at}`;
    throw new CommandFailure(`Nothing of ${what} waits for a review. What does: gen review --list`);
  }
  if (others.length > 0)
    throw wrongUsage(`Several wait: ${found.map((each) => each.edge).join(', ')}. Say which: --edge EDGE`);
  return first;
}

/** Names the candidate that was shown, so that nobody approves what they have not seen. */
async function decide(
  context: Context,
  { calls }: Door,
  pending: PendingReview,
  { comment }: ReviewOptions,
  decision: (typeof DECIDED)[keyof typeof DECIDED],
): Promise<void> {
  const { task_id, generation, iteration, candidate_sha256 } = pending;
  const said = { task_id, generation, iteration, candidate_sha256, decision };
  const reply = expected(await calls.review(comment === undefined ? said : { ...said, comment }));
  if (!reply.success) return refuse(context, reply, 'it is no longer the candidate that was shown');
  const accepted = decision === 'APPROVED' && pending.work_product_ref !== null;
  if (accepted) await endWork(context, { ...pending, subject: task_id });
  if (context.is_json) context.printJson({ ...reply, review: pending });
  else context.print(`\n${context.paint.green(reply.reason)}. ${after(decision, accepted, task_id)}`);
}

/** A result that was escalated is accepted by its approval; whoever asked beforehand has yet to hand it in. */
function after(decision: string, accepted: boolean, task_id: string): string {
  if (accepted) return 'The edge has converged with this candidate.';
  if (decision === 'APPROVED') return 'The agent may now hand in exactly this candidate.';
  if (decision === 'CHANGES_REQUESTED') return 'The claim goes on: the agent mends it and submits again.';
  return `The claim is taken back, and nobody can take the work before you say so: gen task unhold ${task_id} --reason TEXT`;
}
