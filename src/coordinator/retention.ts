import { forgotten, retentionDays } from '../core/claims/retention.js';
import { type EventEnvelope, isoTime } from '../core/events/envelope.js';
import { FORGOTTEN_PER_EVENT_MAX, type HistoryForgotten } from '../core/events/record-events.js';
import { HISTORY_SUBJECT } from '../core/subject.js';
import type { Desk } from './desk.js';
import { noteId, sha256Hex } from './identity.js';
import type { Attempt, Operation } from './operation.js';
import { isProblem } from './problem.js';
import type { Project } from './project.js';
import { UnitBuilder } from './unit-builder.js';

const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Takes out of old events what was said in them, once a day in each project. First the log says which events and what
 * is left of each, then the store forgets: whoever is cut short between the two does the same again a day later.
 */
export class Retention {
  private readonly due_ms = new WeakMap<Project, number>();

  /** A project is looked through when it has been at work for an hour, and every day after that. */
  isDue(project: Project): boolean {
    const now_ms = project.now();
    const due_ms = this.due_ms.get(project) ?? now_ms + HOUR_MS;
    this.due_ms.set(project, due_ms);
    return now_ms >= due_ms;
  }

  /** How many events say less than before. */
  async run(project: Project): Promise<number> {
    const desk = project.desk();
    this.due_ms.set(project, desk.now_ms + DAY_MS);
    const days = retentionDays(desk.policy, desk.limits);
    const until = isoTime(Math.max(0, desk.now_ms - days * DAY_MS));
    let count = 0;
    for (let after = 0; ; ) {
      const page = await project.store.events(project.key, { after, until, limit: FORGOTTEN_PER_EVENT_MAX });
      const last = page.at(-1);
      if (last === undefined) return count;
      after = last.position;
      const events = page.flatMap((event) => lessOf(project.desk(), event));
      if (events.length === 0) continue;
      const told = await project.run(new TellForgotten({ before: until, retention_days: days }, events));
      if (isProblem(told)) return count;
      await project.store.forget(project.key, events);
      count += events.length;
    }
  }
}

function lessOf(desk: Desk, event: EventEnvelope): EventEnvelope[] {
  const head = event.subject === undefined ? null : desk.glimpse(event.subject);
  const less = forgotten(event, head);
  return less === null ? [] : [less];
}

/** Its id follows from what it tells, so that telling it again tells nothing new. */
class TellForgotten implements Operation<true> {
  readonly kind = 'forget_history';
  readonly request = null;

  constructor(
    private readonly about: Omit<HistoryForgotten, 'events'>,
    private readonly events: readonly EventEnvelope[],
  ) {}

  attempt(desk: Desk): Attempt<true> {
    const left = this.events.map(({ position, payload }) => ({
      position,
      payload_sha256: sha256Hex(JSON.stringify(payload)),
    }));
    const event_type = 'HISTORY_FORGOTTEN';
    const event_id = noteId([event_type, desk.key.project_id, JSON.stringify(left)]);
    const payload: HistoryForgotten = { ...this.about, events: left };
    const timestamp = isoTime(desk.now_ms);
    const draft = { event_type, timestamp, subject: HISTORY_SUBJECT, agent_id: 'retention', payload };
    return { unit: new UnitBuilder(desk).told(draft, event_id).build(null), reply: true };
  }

  replay(): true {
    throw new Error('what is forgotten is told without a request');
  }
}
