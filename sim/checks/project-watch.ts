import { type Fact, factOf } from '../../src/core/claims/facts.js';
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
import { kindOf, POLICY_SUBJECT } from '../../src/core/subject.js';
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
    for (const { invariant, subject, position, says } of this.checker.see(event)) {
      this.world.violate(invariant, `${subject ?? project_id} at ${position}: ${says}`);
    }
    evolveProject(this.state, event);
    this.events.push(event);
    this.index(event);
    this.occupy(event);
  }

  /** The event that states a fact about a generation of a subject; the last one where there are several. */
  find(subject: string, generation: number, fact: Fact): EventEnvelope | undefined {
    return this.byFact.get(`${subject} ${generation} ${fact}`);
  }

  effectsOf(request_id: string): readonly EventEnvelope[] {
    return this.byRequest.get(request_id) ?? [];
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
