import type { ClaimFacts } from '../core/claims/commands.js';
import type { Head } from '../core/claims/head.js';
import { dependenciesOf, inputsOf, waitingFor } from '../core/plan/index.js';
import type { RecordHead } from '../core/record.js';
import { kindOf } from '../core/subject.js';
import type { Desk } from './desk.js';
import { edgeFacts, unknownEdge } from './edge-facts.js';
import { sha256Hex } from './identity.js';
import { type Problem, problem } from './problem.js';

const INPUTS_CHARS_MAX = 64;

/** What the plan, the methodology and the sessions say of a claim, as the rules want to be told. */
export function claimFacts(
  desk: Desk,
  subject: string,
  agent: { readonly agent_id: string; readonly agent_role: string | null },
  session: RecordHead | null,
): ClaimFacts {
  const dependencies = dependenciesOf(desk.state.plan, subject);
  const edge = edgeFacts(desk, subject, agent);
  return {
    known: edge === undefined ? isKnown(desk, subject) : edge.unknown_says === null,
    session_closed: session?.value.state === 'closed',
    waiting_for: dependencies.filter((id) => desk.head(id).phase !== 'COMPLETED'),
    inputs: dependencies.length === 0 ? null : inputsDigest(desk, subject),
    full: desk.full,
    ...(edge === undefined ? {} : { edge }),
  };
}

export const isSessionClosed = (desk: Desk, session_id: string): boolean =>
  desk.session(session_id).record?.value.state === 'closed';

export const isKnown = (desk: Desk, subject: string): boolean => unknownSays(desk, subject) === null;

/** A task is known by the plan, an edge by what the project says of features. Null: it is known. */
export function unknownSays(desk: Desk, subject: string): string | null {
  if (kindOf(subject) === 'edge') return unknownEdge(desk, subject);
  return desk.state.plan.get(subject) === undefined ? `${subject} is not in the plan of this project.` : null;
}

export const notKnown = (desk: Desk, subject: string): Problem =>
  problem('NOT_FOUND', unknownSays(desk, subject) ?? `${subject} has no history yet.`);

export function openDependencies(desk: Desk, subject: string): readonly string[] {
  return waitingFor(desk.state.plan, subject, (id) => desk.glimpse(id).phase === 'COMPLETED');
}

/** The results this work builds on, in one short word: another word later means that one of them changed. */
export function inputsDigest(desk: Desk, subject: string): string | null {
  const inputs = inputsOf(desk.state.plan, subject, (id) => resultVersion(desk.head(id)));
  if (inputs === null || inputs.length <= INPUTS_CHARS_MAX) return inputs;
  return sha256Hex(inputs).slice(0, 32);
}

const resultVersion = (head: Head) =>
  head.result === null ? null : { generation: head.result.generation, epoch: head.epoch };
