import type { DecisionContext, SubjectCommand } from '../../claims/commands.js';
import { decide } from '../../claims/decide.js';
import { emptyHead, type Head } from '../../claims/head.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, rulesFor } from '../../claims/policy.js';
import { type EventDraft, type EventEnvelope, isoTime } from '../../events/envelope.js';
import { openDependenciesOf } from '../../plan/ranking.js';
import { PLAN_SUBJECT, sessionSubject, subjectKindOf } from '../../subject.js';
import type { FoldContext } from '../fold-context.js';
import { emptyProject, evolveProject } from '../project-state.js';
import { parkedResults, pastGrant } from '../results.js';
import { type CommandStep, commandOf, TASKS, WORKERS } from './command-steps.js';

const KEY = { tenant_id: 'acme', project_id: 'shop' };
export const T0_MS = Date.UTC(2026, 0, 4, 6);

const POLICY = { ...DEFAULT_POLICY, max_attempts: 3, stale_threshold_seconds: 120 };
const LIMITS = { ...DEFAULT_LIMITS, max_generations_per_task: 6 };
const RULES = { task: rulesFor('task', POLICY, LIMITS, 0), edge: rulesFor('edge', POLICY, LIMITS, 0) };
export const rulesOf: FoldContext['rulesOf'] = (subject) =>
  RULES[subjectKindOf(subject) === 'edge' ? 'edge' : 'task'];

const claimIdOf: DecisionContext['claimIdOf'] = ({ generation }) => `claim-${generation}`;

/** A project whose commands are decided by the real rules, so that its history could occur. */
export class ProjectHistory {
  readonly events: EventEnvelope[] = [];
  readonly heads = new Map<string, Head>();
  now_ms = T0_MS;
  private readonly state = emptyProject();
  private readonly appendedKeys = new Set<string>();

  constructor() {
    const change = { version: 1, added: TASKS, changed: [], removed: [] };
    const record = { version: 1, task_count: TASKS.length };
    this.appendRecord('PLAN_CHANGED', PLAN_SUBJECT, { ...change, record });
    for (const { session_id } of WORKERS) {
      const opened = { state: 'open', user_id: `user-of-${session_id}`, created_at: isoTime(this.now_ms) };
      this.appendRecord('SESSION_OPENED', sessionSubject(session_id), { record: opened });
    }
  }

  foldContext(): FoldContext {
    return { key: KEY, now_ms: this.now_ms, rulesOf };
  }

  head(subject: string): Head {
    return this.heads.get(subject) ?? emptyHead(subject);
  }

  eventsOf(subject: string): EventEnvelope[] {
    return this.events.filter((event) => event.subject === subject);
  }

  waitingFor(subject: string): string[] {
    return openDependenciesOf(this.state.plan, subject, (id) => this.head(id).phase === 'COMPLETED');
  }

  run(steps: readonly CommandStep[]): this {
    for (const step of steps) {
      this.now_ms += step.seconds * 1000;
      this.command(step.subject, commandOf(step, this));
    }
    return this;
  }

  command(subject: string, command: SubjectCommand): string {
    const head = this.head(subject);
    const context = { now_ms: this.now_ms, rules: rulesOf(subject), claimIdOf };
    const { code, next, events, loose_events: looseEvents } = decide(head, command, context);
    this.heads.set(subject, next);
    for (const event of events) this.append(event);
    for (const looseEvent of looseEvents) this.appendOnce(looseEvent);
    return code;
  }

  /** Writes identical refusals once, as the coordinator does. */
  private appendOnce(looseEvent: EventDraft): void {
    const { event_type, subject, generation, agent_id, payload } = looseEvent;
    const key = [event_type, subject, generation, agent_id, payload.result_sha256].join();
    if (!this.appendedKeys.has(key)) this.append(looseEvent);
    this.appendedKeys.add(key);
  }

  private appendRecord(event_type: string, subject: string, payload: EventDraft['payload']): void {
    this.append({
      event_type,
      timestamp: isoTime(this.now_ms),
      subject,
      seq: 1,
      agent_id: 'genesis',
      payload,
    });
  }

  private append(draft: EventDraft): void {
    const position = this.events.length + 1;
    const event_id = `00000000-0000-7000-8000-${position.toString(16).padStart(12, '0')}`;
    const event = { ...draft, ...KEY, event_id, position };
    this.events.push(event);
    evolveProject(this.state, event);
  }

  /** The grant of a generation, from the history. */
  grantOf(subject: string, generation: number) {
    return pastGrant(this.eventsOf(subject), generation);
  }

  parkedOf(subject: string) {
    return parkedResults(this.eventsOf(subject));
  }
}
