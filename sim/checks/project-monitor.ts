import { isRefusal } from '../../src/coordinator/queue/refusal-recorder.js';
import { type ClaimEventKind, claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import { emptyHead, type Head } from '../../src/core/claims/head.js';
import { LogChecker } from '../../src/core/claims/invariants.js';
import { isLive, permitHeldUntilMs } from '../../src/core/claims/lease.js';
import {
  DEFAULT_POLICY,
  generationFloor,
  type Limits,
  type Policy,
  type Rules,
  rulesFor,
} from '../../src/core/claims/policy.js';
import { REFUSALS_RECORDED_MAX } from '../../src/core/claims/refusals.js';
import { isRunEvent } from '../../src/core/engine/run-summaries.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { LOSS_SUBJECT, POLICY_SUBJECT, sessionSubject, subjectKindOf } from '../../src/core/subject.js';
import { emptyProject, evolveProject } from '../../src/core/views/index.js';
import type { ProjectKey } from '../../src/stores/store.js';
import type { SimWorld } from '../world/world.js';
import type { CoverageCounter } from './coverage.js';
import { RunChecks } from './run-checks.js';

/** Checks one project's log event by event as it becomes durable, and keeps the folded state. */
export class ProjectMonitor {
  readonly events: EventEnvelope[] = [];
  readonly state = emptyProject();
  readonly checker: LogChecker;
  readonly runs: RunChecks;
  /** Events that changed a head, by the request that caused them. */
  private readonly effectsByRequest = new Map<string, EventEnvelope[]>();
  private readonly lastByEventKind = new Map<string, EventEnvelope>();
  private readonly eventIds = new Set<string>();
  private readonly looseEventKeys = new Set<string>();
  private readonly headHistory = new Map<string, { readonly step: number; readonly head: Head }[]>();
  private survivingCount = 0;
  private policy: Policy = DEFAULT_POLICY;
  private generationFloor = 0;
  /** Position of the last policy change: track permits count claims granted after it. */
  policy_position = 0;
  /** When each subject's permit expires, by the rules that applied when the subject last changed. */
  readonly permitUntilMs = new Map<string, number>();

  constructor(
    private readonly world: SimWorld,
    readonly key: ProjectKey,
    private readonly limits: Limits,
    coverage: CoverageCounter,
  ) {
    this.runs = new RunChecks(world, coverage);
    this.checker = new LogChecker((subject) => this.rulesOf(subject));
  }

  get currentPolicy(): Policy {
    return this.policy;
  }

  rulesOf(subject: string): Rules {
    return rulesFor(subjectKindOf(subject), this.policy, this.limits, 0, this.generationFloor);
  }

  /** Whether the subject has a claim that nobody may take over under the current rules. */
  isHeld(subject: string, nowMs: number): boolean {
    const head = this.state.heads.get(subject);
    return head !== undefined && isLive(head, nowMs, this.rulesOf(subject));
  }

  addEvent(event: EventEnvelope): void {
    const { tenant_id, project_id } = this.key;
    if (event.tenant_id !== tenant_id || event.project_id !== project_id) {
      this.world.reportViolation(
        'INV-14',
        `${event.event_id} of ${event.tenant_id} is in the log of ${tenant_id}`,
      );
    }
    if (event.request_id !== undefined && !event.request_id.startsWith(`${tenant_id}.`)) {
      this.world.reportViolation('INV-14', `the request ${event.request_id} took effect in ${tenant_id}`);
    }
    if (this.eventIds.has(event.event_id))
      this.world.reportViolation('INV-21', `${event.event_id} is in the log twice`);
    this.eventIds.add(event.event_id);
    this.checkSession(event);
    this.checkLooseEvent(event);
    for (const { invariant, subject, position, message: says } of this.checker.checkEvent(event)) {
      this.world.reportViolation(invariant, `${subject ?? project_id} at ${position}: ${says}`);
    }
    this.runs.addEvent(event);
    evolveProject(this.state, event);
    this.events.push(event);
    this.updateIndexes(event);
    this.updatePermit(event);
    this.recordHead(event);
  }

  /** The heads that a subject had between two steps, including the head before the first step. */
  headsBetween(subject: string, fromStep: number, toStep: number): Head[] {
    const headVersions = this.headHistory.get(subject) ?? [];
    const headBefore = headVersions.findLast(({ step }) => step < fromStep)?.head ?? emptyHead(subject);
    const within = headVersions.filter(({ step }) => step >= fromStep && step <= toStep);
    return [headBefore, ...within.map(({ head }) => head)];
  }

  /** The event of this kind for a generation of a subject; the last one if there are several. */
  findEvent(subject: string, generation: number, eventKind: ClaimEventKind): EventEnvelope | undefined {
    return this.lastByEventKind.get(`${subject} ${generation} ${eventKind}`);
  }

  effectsOf(requestId: string): readonly EventEnvelope[] {
    return this.effectsByRequest.get(requestId) ?? [];
  }

  /** Marks all events seen so far as survivors of a loss of history. */
  markSurvivedLoss(): void {
    this.survivingCount = this.events.length;
  }

  /** Whether the event was written before the loss of history, and is still in the log. */
  hasSurvivedLoss(eventId: string): boolean {
    return this.events.slice(0, this.survivingCount).some(({ event_id }) => event_id === eventId);
  }

  hasWrittenSinceLoss(requestId: string): boolean {
    return this.events.slice(this.survivingCount).some((event) => event.request_id === requestId);
  }

  private recordHead({ subject = '', seq }: EventEnvelope): void {
    const head = seq === undefined ? undefined : this.state.heads.get(subject);
    if (head === undefined) return;
    const headVersions = this.headHistory.get(subject) ?? [];
    headVersions.push({ step: this.world.steps, head });
    this.headHistory.set(subject, headVersions);
  }

  private checkSession({ event_type, subject, session_id = '' }: EventEnvelope): void {
    if (claimEventKindOf(event_type) !== 'granted') return;
    const session = this.state.records.get(sessionSubject(session_id));
    if (session?.value.state !== 'closed') return;
    this.world.reportViolation('INV-05', `${subject} was granted to the closed session ${session_id}`);
  }

  /** For each generation, the refusals of a principal have distinct numbers; only the first few may be recorded. */
  private checkRefusal({ subject, payload }: EventEnvelope): void {
    const { current_generation, principal, refused_count } = payload;
    const key = JSON.stringify(['refusal', subject, current_generation, principal, refused_count]);
    if (this.looseEventKeys.has(key)) this.world.reportViolation('INV-11', `${key} was recorded twice`);
    this.looseEventKeys.add(key);
    if (Number(refused_count) >= 1 && Number(refused_count) <= REFUSALS_RECORDED_MAX) return;
    this.world.reportViolation('INV-11', `${key} was recorded, but should only be counted`);
  }

  private checkLooseEvent(event: EventEnvelope): void {
    // `RunChecks` checks the events of runs.
    if (event.seq !== undefined || isRunEvent(event.event_type)) return;
    if (isRefusal(event) && event.payload.parked !== true) this.checkRefusal(event);
    else this.checkUnique(event);
  }

  /** A repeated note or parked result must not be written again, and neither must a checkpoint of the same position. */
  private checkUnique({
    event_type,
    subject,
    generation,
    agent_id,
    session_id,
    payload,
  }: EventEnvelope): void {
    const { position, incarnation, key_id } = payload;
    const checkpointContent = position === undefined ? key_id : `${incarnation}/${position}`;
    const candidateContent = payload.candidate_sha256 && `${payload.iteration}/${payload.candidate_sha256}`;
    const content =
      candidateContent ?? payload.result_sha256 ?? payload.text ?? payload.refused_count ?? checkpointContent;
    const key = JSON.stringify([event_type, subject, generation, agent_id, session_id, content]);
    if (this.looseEventKeys.has(key)) this.world.reportViolation('INV-11', `${key} was recorded twice`);
    this.looseEventKeys.add(key);
  }

  private updatePermit({ subject = '', seq }: EventEnvelope): void {
    const head = seq === undefined ? undefined : this.state.heads.get(subject);
    if (head === undefined) return;
    const untilMs = permitHeldUntilMs(head, this.rulesOf(subject));
    if (untilMs === null) this.permitUntilMs.delete(subject);
    else this.permitUntilMs.set(subject, untilMs);
  }

  private updateIndexes(event: EventEnvelope): void {
    if (event.subject === POLICY_SUBJECT) {
      this.policy_position = event.position;
      this.policy = { ...DEFAULT_POLICY, ...(event.payload.record as Partial<Policy>) };
    }
    if (event.subject === LOSS_SUBJECT)
      this.generationFloor = generationFloor(this.state.records.get(LOSS_SUBJECT));
    const eventKind = claimEventKindOf(event.event_type);
    if (eventKind !== undefined && event.subject !== undefined) {
      this.lastByEventKind.set(`${event.subject} ${event.generation ?? 0} ${eventKind}`, event);
    }
    if (event.seq === undefined || event.request_id === undefined) return;
    const requestEvents = this.effectsByRequest.get(event.request_id);
    if (requestEvents === undefined) this.effectsByRequest.set(event.request_id, [event]);
    else requestEvents.push(event);
  }
}
