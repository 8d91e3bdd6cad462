import { canonicalJson } from '../../core/canonical-json.js';
import type { DecideProposalBody, PlanResult } from '../../core/contract/plan.js';
import type { PendingProposal } from '../../core/contract/reviews.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { readTaskItems } from '../../core/plan/index.js';
import {
  PENDING_PROPOSALS_MAX,
  PROPOSAL_CHARS_MAX,
  type TaskProposal,
  taskProposalSchema,
} from '../../core/plan/task-proposal.js';
import { PLAN_SUBJECT, proposalSubject } from '../../core/subject.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, NeedsFetch, Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import { sha256Hex } from '../runtime/identity.js';
import { fieldProblem, isProblem, type Problem, problem } from '../wire/problem.js';
import { applyPlanUpdate, planAdditions, unchangedPlan } from './apply-plan.js';
import { requestKeyOf } from './shared.js';

const PREFIX = proposalSubject('');

/** Stores tasks as a proposal. The same tasks are one proposal: a repeat gets the current state of the proposal. */
export function proposeTasks(
  transaction: TransactionBuilder,
  tasks: unknown,
  caller: Caller,
): PlanResult | Problem {
  const { view } = transaction;
  // For a large body, `tasks` is only its digest. Such a body is over the limit.
  const text = Array.isArray(tasks) ? canonicalJson(tasks) : null;
  if (text === null || text.length > PROPOSAL_CHARS_MAX)
    return fieldProblem(
      'tasks',
      `a proposal has at most ${PROPOSAL_CHARS_MAX} characters; propose the tasks in several parts`,
    );
  const id = `prop_${sha256Hex(text).slice(0, 24)}`;
  const existing = proposalOf(view, id);
  if (existing === null && pendingProposals(view).length >= PENDING_PROPOSALS_MAX)
    return fieldProblem(
      'tasks',
      `${PENDING_PROPOSALS_MAX} proposals already wait for a person. Propose again after one is decided`,
    );
  const by = actorOf(caller);
  const proposal = existing ?? {
    state: 'pending',
    tasks: tasks as unknown[],
    proposed_by: by,
    proposed_at: new Date(view.now_ms).toISOString(),
    decided_by: null,
    comment: null,
  };
  transaction.checkRecord(proposalSubject(id));
  if (existing === null) transaction.writeRecord(proposalSubject(id), 'TASKS_PROPOSED', proposal, by);
  return withProposal(unchangedPlan(view), id, proposal);
}

/** Decides a proposal for a person. Approval adds the tasks to the current plan in the same transaction. */
export const decideProposal = (
  body: DecideProposalBody,
  caller: Caller,
): Operation<PlanResult | Problem> => ({
  kind: 'plan',
  requestKey: requestKeyOf(caller, 'decide_proposal', body),
  attempt(view): Attempt<PlanResult | Problem> | NeedsFetch {
    if (view.hasPendingChange(PLAN_SUBJECT)) return { needs: () => view.settled() };
    const transaction = new TransactionBuilder(view, body.request_id).checkRecord(PLAN_SUBJECT);
    return transaction.answer(this.requestKey, decideTaskProposal(transaction, body, caller));
  },
});

function decideTaskProposal(
  transaction: TransactionBuilder,
  { proposal_id, decision, comment }: DecideProposalBody,
  caller: Caller,
): PlanResult | Problem {
  const { view } = transaction;
  const subject = proposalSubject(proposal_id);
  const proposal = proposalOf(view, proposal_id);
  transaction.checkRecord(subject);
  if (proposal?.state !== 'pending') {
    const why = proposal === null ? 'There is no' : `${proposal.decided_by} has ${proposal.state} the`;
    return problem('NOT_FOUND', `${why} proposal ${proposal_id}. List those that are pending: gen review.`);
  }
  const isApproved = decision === 'approve';
  const result = isApproved
    ? applyPlanUpdate(transaction, planAdditions(readTaskItems(proposal.tasks)), caller)
    : unchangedPlan(view);
  if (isProblem(result)) return result;
  const by = actorOf(caller);
  const decided: TaskProposal = {
    ...proposal,
    state: isApproved ? 'approved' : 'rejected',
    decided_by: by,
    comment: comment ?? null,
  };
  transaction.writeRecord(subject, 'TASKS_PROPOSAL_DECIDED', decided, by);
  return withProposal(result, proposal_id, decided);
}

/** Proposals that wait for a person, longest wait first. */
export function pendingProposals(view: DecisionView): PendingProposal[] {
  const pending: PendingProposal[] = [];
  for (const { subject, value } of view.state.records.values()) {
    if (!subject.startsWith(PREFIX)) continue;
    const { state, tasks, proposed_by, proposed_at } = taskProposalSchema.parse(value);
    const proposal_id = subject.slice(PREFIX.length);
    const next = genCommand('review', '--proposal', proposal_id);
    if (state === 'pending') pending.push({ proposal_id, tasks, proposed_by, since: proposed_at, next });
  }
  return pending.sort((a, b) => (a.since < b.since ? -1 : 1));
}

function proposalOf(view: DecisionView, id: string): TaskProposal | null {
  const record = view.record(proposalSubject(id));
  return record === null ? null : taskProposalSchema.parse(record.value);
}

const withProposal = (
  result: PlanResult,
  proposal_id: string,
  { state, comment }: TaskProposal,
): PlanResult => ({
  ...result,
  proposal: { proposal_id, state, comment },
});
