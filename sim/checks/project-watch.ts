import { type Fact, factOf } from '../../src/core/claims/facts.js';
import { emptyHead, type Head } from '../../src/core/claims/head.js';
import { LogChecker } from '../../src/core/claims/invariants.js';
import { occupiedUntilMs } from '../../src/core/claims/lease.js';
import {
  DEFAULT_POLICY,
  type Limits,
  type Policy,
  type Rules,
  rulesFor,
} from '../../src/core/claims/policy.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { kindOf, POLICY_SUBJECT, sessionSubject } from '../../src/core/subject.js';
import { emptyProject, evolveProject } from '../../src/core/views/index.js';
import type { ProjectKey } from '../../src/stores/store.js';
import type { World } from '../world/world.js';

/** One project's log as it becomes durable, judged event by event, and folded for whoever asks. */
export class ProjectWatch {
  readonly events: EventEnvelope[] = [];
  readonly state = emptyProject();
  readonly checker: LogChecker;
  /** Events that moved a head, by the request that led to them. */
  private readonly byRequest = new Map<string, EventEnvelope[]>();
  private readonly byFact = new Map<string, EventEnvelope>();
  private readonly ids = new Set<string>();
  private readonly noted = new Set<string>();
  private readonly pasts = new Map<string, { readonly step: number; readonly head: Head }[]>();
  private kept = 0;
  private policy: Policy = DEFAULT_POLICY;
  /** Where the policy last changed: places in tracks are taken by those who came after. */
  policy_position = 0;
  /** Until when each subject takes a place, by the rules under which it last moved. */
  readonly occupied = new Map<string, number>();

  constructor(
    private readonly world: World,
    readonly key: ProjectKey,
    private readonly limits: Limits,
  ) {
    this.checker = new LogChecker((subject) => this.rulesOf(subject));
  }

  get currentPolicy(): Policy {
    return this.policy;
  }

  rulesOf(subject: string): Rules {
    return rulesFor(kindOf(subject), this.policy, this.limits, 0);
  }

  see(event: EventEnvelope): void {
    const { tenant_id, project_id } = this.key;
    if (event.tenant_id !== tenant_id || event.project_id !== project_id) {
      this.world.violate('INV-14', `${event.event_id} of ${event.tenant_id} is in the log of ${tenant_id}`);
    }
    if (event.request_id !== undefined && !event.request_id.startsWith(`${tenant_id}.`)) {
      this.world.violate('INV-14', `the request ${event.request_id} took effect in ${tenant_id}`);
    }
    if (this.ids.has(event.event_id)) this.world.violate('INV-21', `${event.event_id} is in the log twice`);
    this.ids.add(event.event_id);
    this.checkSession(event);
    this.checkNote(event);
    for (const { invariant, subject, position, says } of this.checker.see(event)) {
      this.world.violate(invariant, `${subject ?? project_id} at ${position}: ${says}`);
    }
    evolveProject(this.state, event);
    this.events.push(event);
    this.index(event);
    this.occupy(event);
    this.keepPast(event);
  }

  /** The heads a subject had from one step to another, the one it came with included. */
  headsBetween(subject: string, from_step: number, to_step: number): Head[] {
    const past = this.pasts.get(subject) ?? [];
    const before = past.findLast(({ step }) => step < from_step)?.head ?? emptyHead(subject);
    const within = past.filter(({ step }) => step >= from_step && step <= to_step);
    return [before, ...within.map(({ head }) => head)];
  }

  /** The event that states a fact about a generation of a subject; the last one where there are several. */
  find(subject: string, generation: number, fact: Fact): EventEnvelope | undefined {
    return this.byFact.get(`${subject} ${generation} ${fact}`);
  }

  effectsOf(request_id: string): readonly EventEnvelope[] {
    return this.byRequest.get(request_id) ?? [];
  }

  /** All that was seen so far outlived a loss of history. */
  outlivedLoss(): void {
    this.kept = this.events.length;
  }

  hasWrittenSinceLoss(request_id: string): boolean {
    return this.events.slice(this.kept).some((event) => event.request_id === request_id);
  }

  private keepPast({ subject = '', seq }: EventEnvelope): void {
    const head = seq === undefined ? undefined : this.state.heads.get(subject);
    if (head === undefined) return;
    const past = this.pasts.get(subject) ?? [];
    past.push({ step: this.world.steps, head });
    this.pasts.set(subject, past);
  }

  private checkSession({ event_type, subject, session_id = '' }: EventEnvelope): void {
    if (factOf(event_type) !== 'granted') return;
    const session = this.state.records.get(sessionSubject(session_id));
    if (session?.value.state !== 'closed') return;
    this.world.violate('INV-05', `${subject} was granted to the session ${session_id}, which is closed`);
  }

  /** What is refused or remarked again is not written again. */
  private checkNote({
    event_type,
    subject,
    generation,
    agent_id,
    session_id,
    seq,
    payload,
  }: EventEnvelope): void {
    if (seq !== undefined) return;
    const said = payload.result_sha256 ?? payload.reason ?? payload.text;
    const note = JSON.stringify([event_type, subject, generation, agent_id, session_id, said]);
    if (this.noted.has(note)) this.world.violate('INV-11', `${note} was written down twice`);
    this.noted.add(note);
  }

  private occupy({ subject = '', seq }: EventEnvelope): void {
    const head = seq === undefined ? undefined : this.state.heads.get(subject);
    if (head === undefined) return;
    const until_ms = occupiedUntilMs(head, this.rulesOf(subject));
    if (until_ms === null) this.occupied.delete(subject);
    else this.occupied.set(subject, until_ms);
  }

  private index(event: EventEnvelope): void {
    if (event.subject === POLICY_SUBJECT) {
      this.policy_position = event.position;
      this.policy = { ...DEFAULT_POLICY, ...(event.payload.record as Partial<Policy>) };
    }
    const fact = factOf(event.event_type);
    if (fact !== undefined && event.subject !== undefined) {
      this.byFact.set(`${event.subject} ${event.generation ?? 0} ${fact}`, event);
    }
    if (event.seq === undefined || event.request_id === undefined) return;
    const known = this.byRequest.get(event.request_id);
    if (known === undefined) this.byRequest.set(event.request_id, [event]);
    else known.push(event);
  }
}
