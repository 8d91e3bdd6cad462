import type { SubjectCommand } from '../../core/claims/commands.js';
import type { GateResult } from '../../core/contract/claim-replies.js';
import { reviewBody } from '../../core/contract/reviews.js';
import { type OperatorVerb, operatorBodies } from '../../core/contract/tasks.js';
import type { ProjectKey } from '../../stores/store.js';
import { actorOf, OPEN_CALLER } from '../authentication/caller.js';
import { unverifiedChecks } from '../operations/convergence-facts.js';
import { inputsDigest } from '../operations/facts.js';
import { holderOperation } from '../operations/holder.js';
import { OperatorOperation, type OperatorRequest } from '../operations/operate.js';
import { parseBody, parseRoleBody, parseSubject } from '../operations/parse-body.js';
import { checkPushedIds } from '../operations/pushed.js';
import { renderGateResult } from '../operations/render.js';
import { requestKeyOf } from '../operations/shared.js';
import type { EventHistory } from '../queries/history.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Projects } from '../queue/projects.js';
import { type AsyncReply, isProblem, problem } from '../wire/problem.js';

/** Decisions of people: the decision of a review, and an operator's commands on a subject. */
export class DecisionService {
  constructor(
    private readonly projects: Projects,
    private readonly history: EventHistory,
  ) {}

  async recordReview(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GateResult> {
    const fields = parseBody(reviewBody, body);
    if (isProblem(fields)) return fields;
    const subject = parseSubject(fields.task_id);
    if (isProblem(subject)) return subject;
    if (!caller.may_review)
      return problem('FORBIDDEN', 'Only a reviewer can decide a review. Use a credential that may review.');
    const { task_id: _, signature: __, request_id, comment = null, offline, ...review } = fields;
    const { principal } = caller;
    const command = (view: DecisionView): SubjectCommand => ({
      type: 'record_review',
      ...review,
      ...(offline === undefined
        ? { reviewer: actorOf(caller) }
        : { reviewer: offline.reviewer, pushed_by: { actor: actorOf(caller), principal } }),
      comment,
      inputs: inputsDigest(view, subject),
      failing: unverifiedChecks(view, subject),
    });
    const requestKey = requestKeyOf(caller, 'record_review', fields);
    const operation = holderOperation(
      subject,
      command,
      renderGateResult,
      { request_id, offline },
      requestKey,
    );
    const checked = checkPushedIds(operation, offline, { history: this.history, key: projectKey, subject });
    return this.projects.withProject(projectKey, (project) => project.run(checked, caller));
  }

  async operate(
    projectKey: ProjectKey,
    taskId: string,
    verb: OperatorVerb,
    body: unknown,
    caller = OPEN_CALLER,
  ) {
    const fields =
      verb === 'reassign'
        ? parseRoleBody(operatorBodies.reassign, body, caller)
        : parseBody(operatorBodies[verb], body);
    if (isProblem(fields)) return fields;
    const subject = parseSubject(taskId);
    if (isProblem(subject)) return subject;
    const readHistory = () => this.history.ofSubject(projectKey, subject);
    const request = { verb, body: fields } as OperatorRequest;
    const operation = new OperatorOperation(subject, request, caller, readHistory);
    return this.projects.withProject(projectKey, (project) => project.run(operation, caller));
  }
}
