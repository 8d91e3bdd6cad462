import type { ClaimFacts } from '../../core/claims/commands.js';
import type { Head } from '../../core/claims/head.js';
import { didYouMean } from '../../core/closest-names.js';
import { dependenciesOf, inputsOf, openDependenciesOf } from '../../core/plan/index.js';
import type { RecordHead } from '../../core/record.js';
import { subjectKindOf } from '../../core/subject.js';
import type { DecisionView } from '../queue/decision-view.js';
import { sha256Hex } from '../runtime/identity.js';
import { type Problem, problem } from '../wire/problem.js';
import { edgeFacts, unknownEdgeText } from './edge-facts.js';

const INPUTS_CHARS_MAX = 64;

/** The facts that the claim rules need from the plan, the methodology and the sessions. */
export function claimFacts(
  view: DecisionView,
  subject: string,
  agent: { readonly agent_id: string; readonly agent_role: string | null },
  session: RecordHead | null,
): ClaimFacts {
  const dependencies = dependenciesOf(view.state.plan, subject);
  const edge = edgeFacts(view, subject, agent);
  return {
    is_known_subject: edge === undefined ? isKnownSubject(view, subject) : edge.unknown_message === null,
    is_session_closed: session?.value.state === 'closed',
    waiting_for: dependencies.filter((id) => !view.isCompleted(id)),
    inputs: dependencies.length === 0 ? null : inputsDigest(view, subject),
    reached_limit: view.reachedLimit,
    ...(edge === undefined ? {} : { edge }),
  };
}

export const isSessionClosed = (view: DecisionView, sessionId: string): boolean =>
  view.lookUpSession(sessionId).record?.value.state === 'closed';

export const isKnownSubject = (view: DecisionView, subject: string): boolean =>
  unknownSubjectText(view, subject) === null;

/** Why the subject is unknown: the plan lacks the task, or the methodology lacks the edge. Null if it is known. */
export function unknownSubjectText(view: DecisionView, subject: string): string | null {
  if (subjectKindOf(subject) === 'edge') return unknownEdgeText(view, subject);
  return view.state.plan.get(subject) === undefined ? `${subject} is not in the plan of this project.` : null;
}

export function unknownSubjectProblem(view: DecisionView, subject: string): Problem {
  const unknownText = unknownSubjectText(view, subject);
  if (unknownText === null)
    return problem('NOT_FOUND', `${subject} has no history yet. It begins with the first claim.`);
  if (subjectKindOf(subject) === 'edge') return problem('NOT_FOUND', unknownText);
  const track = subject.slice(0, subject.indexOf('-'));
  const suggestion = didYouMean(
    subject,
    view.state.plan.tasksOf(track).map(({ id }) => id),
  );
  return problem(
    'NOT_FOUND',
    `${subject} is not in the plan of project ${view.key.project_id}.${suggestion} List its tasks: gen plan show.`,
  );
}

export function openDependencies(view: DecisionView, subject: string): readonly string[] {
  return openDependenciesOf(view.state.plan, subject, (id) => view.peekHead(id).phase === 'COMPLETED');
}

/**
 * The versions of the results that this work builds on, as text or, if the text is long, as its digest. It changes when one
 * of the results does. Null if the work builds on none.
 */
export function inputsDigest(view: DecisionView, subject: string): string | null {
  const inputs = inputsOf(view.state.plan, subject, (id) => resultVersion(view.head(id)));
  if (inputs === null || inputs.length <= INPUTS_CHARS_MAX) return inputs;
  return sha256Hex(inputs).slice(0, 32);
}

const resultVersion = (head: Head) =>
  head.result === null ? null : { generation: head.result.generation, epoch: head.epoch };
