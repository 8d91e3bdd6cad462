import type { ClaimFacts } from '../core/claims/commands.js';
import type { Head } from '../core/claims/head.js';
import { dependenciesOf, inputsOf, waitingFor } from '../core/plan/index.js';
import type { RecordHead } from '../core/record.js';
import { kindOf } from '../core/subject.js';
import type { Desk } from './desk.js';
import { sha256Hex } from './identity.js';

const INPUTS_CHARS_MAX = 64;

/** What the plan and the sessions say of a claim, as the rules want to be told. */
export function claimFacts(desk: Desk, subject: string, session: RecordHead | null): ClaimFacts {
  const dependencies = dependenciesOf(desk.state.plan, subject);
  return {
    known: isKnown(desk, subject),
    session_closed: session?.value.state === 'closed',
    waiting_for: dependencies.filter((id) => desk.head(id).phase !== 'COMPLETED'),
    inputs: dependencies.length === 0 ? null : inputsDigest(desk, subject),
    full: desk.full,
  };
}

export const isSessionClosed = (desk: Desk, session_id: string): boolean =>
  desk.session(session_id).record?.value.state === 'closed';

const EDGE = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}#[a-z][a-z0-9_]{0,99}$/;

/** A task is known by the plan; an edge by its name, since features come and go with the methodology. */
export function isKnown(desk: Desk, subject: string): boolean {
  return kindOf(subject) === 'edge' ? EDGE.test(subject) : desk.state.plan.get(subject) !== undefined;
}

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
