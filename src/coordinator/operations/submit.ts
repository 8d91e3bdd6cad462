import type { Handle, PastGrant, SubmitFacts } from '../../core/claims/commands.js';
import { decide } from '../../core/claims/decide.js';
import type { SubmittedResult } from '../../core/claims/head.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { kindOf } from '../../core/subject.js';
import { parkedResults, pastGrant } from '../../core/views/index.js';
import type { Caller } from '../caller.js';
import { convergenceFacts, evidenceIn } from '../convergence-facts.js';
import type { Desk } from '../desk.js';
import { inputsDigest } from '../facts.js';
import type { Attempt, Needs, Operation } from '../operation.js';
import { submissionResult } from '../render.js';
import { UnitBuilder } from '../unit-builder.js';
import type { SubmissionResult, SubmitBody } from '../wire.js';
import { countSession, countTrackAgent } from './shared.js';

/** How many refused results a subject keeps of one agent. */
export const PARKED_PER_AGENT_MAX = 16;

export interface Submission {
  readonly subject: string;
  readonly handle: Handle;
  readonly result: SubmittedResult;
  readonly said: SubmitBody;
  /** What the result changes, from the project's root. */
  readonly files: readonly string[];
  readonly caller: Caller;
}

/** What the log says of a zombie: who was granted its generation, and how much of its work is kept. */
interface Past {
  readonly grant: PastGrant | null;
  readonly parking_full: boolean;
}

export class SubmitOperation implements Operation<SubmissionResult> {
  readonly kind = 'submit';
  readonly request = null;
  private past: Past | null = null;

  constructor(
    private readonly submission: Submission,
    private readonly historyOf: (subject: string) => Promise<readonly EventEnvelope[]>,
  ) {}

  attempt(desk: Desk): Attempt<SubmissionResult> | Needs {
    const { subject, handle, said } = this.submission;
    const head = desk.head(subject);
    const result = this.result(desk);
    const facts: SubmitFacts = {
      inputs: inputsDigest(desk, subject),
      past_grant: this.past?.grant ?? null,
      ...convergenceFacts(desk, head, { ...this.submission, evidence: result.evidence }),
      iteration: said.iteration ?? 1,
      parking_full: this.past?.parking_full ?? false,
      no_room: desk.full !== null,
    };
    const decision = decide(head, { type: 'submit', handle, result, facts }, desk.context(subject));
    // Refused work may have been granted once: only the log can tell, and it is read once.
    if (decision.details.work_lost && this.past === null) return { needs: () => this.readPast() };
    const unit = new UnitBuilder(desk, said.request_id ?? null).decided(decision, said.signature);
    countSession(unit, desk, decision);
    countTrackAgent(unit, desk, decision);
    return { unit: unit.build(null), reply: submissionResult(decision) };
  }

  replay(): SubmissionResult {
    throw new Error('a submission is idempotent from the head and never remembered');
  }

  private result(desk: Desk): SubmittedResult {
    const { result, said, subject } = this.submission;
    const evidence = kindOf(subject) === 'edge' ? evidenceIn(said, desk.methodology !== null) : null;
    return evidence === null ? result : { ...result, evidence };
  }

  private async readPast(): Promise<void> {
    const { subject, handle, result } = this.submission;
    const events = await this.historyOf(subject);
    const grant = pastGrant(events, handle.generation);
    const kept = parkedResults(events).filter((parked) => parked.agent_id === grant?.agent_id);
    const again = kept.some((parked) => parked.id === result.result_id);
    this.past = { grant, parking_full: !again && kept.length >= PARKED_PER_AGENT_MAX };
  }
}
