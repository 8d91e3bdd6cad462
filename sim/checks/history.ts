import { isProblem } from '../../src/coordinator/index.js';
import { isUndecided } from '../../src/coordinator/problem.js';
import { type Fact, factOf } from '../../src/core/claims/facts.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { StoreBroken, StoreUnavailable } from '../../src/stores/store.js';
import type { Command } from '../actors/commands.js';
import type { World } from '../world/world.js';
import type { Observer } from './observer.js';
import { wasTrue } from './refusals.js';
import type { Reached } from './sometimes.js';

/** One arrival of a command at a coordinator. A command may arrive several times, or never. */
export interface Delivery {
  readonly began_step: number;
  ended_step: number | null;
  /** `open`: not answered, perhaps never. `nothing`: it surely did not happen. `unknown`: nobody can tell. */
  outcome: 'open' | 'ok' | 'refused' | 'nothing' | 'unknown';
  /** Its effect was in the log when it was answered: from then on every answer must be the same. */
  took_effect: boolean;
  reply: unknown;
}

export interface CommandRecord {
  readonly command: Command;
  readonly invoked_ms: number;
  /** History was lost since: what was told before it may be undone. */
  readonly incarnation: number;
  readonly deliveries: Delivery[];
}

/** What was asked and what was answered, and whether the log bears it out. */
export class History {
  readonly records: CommandRecord[] = [];

  constructor(
    private readonly world: World,
    private readonly observer: Observer,
    private readonly reached: Reached,
    private readonly incarnation: () => number,
  ) {}

  invoke(command: Command): CommandRecord {
    const record = {
      command,
      invoked_ms: this.world.now_ms,
      incarnation: this.incarnation(),
      deliveries: [],
    };
    this.records.push(record);
    return record;
  }

  begin(record: CommandRecord): Delivery {
    const delivery: Delivery = {
      began_step: this.world.steps,
      ended_step: null,
      outcome: 'open',
      took_effect: false,
      reply: null,
    };
    record.deliveries.push(delivery);
    return delivery;
  }

  answered(record: CommandRecord, delivery: Delivery, reply: unknown): void {
    delivery.ended_step = this.world.steps;
    delivery.reply = reply;
    delivery.outcome = outcomeOf(reply);
    const { command } = record;
    this.world.trace(`${command.request_id} ${command.op} ${command.subject ?? ''}: ${brief(reply)}`);
    this.count(command, reply);
    for (const part of partsOf(command, reply)) this.checkPart(record, part);
    const watch = this.observer.watch(command.scope);
    delivery.took_effect = command.request_ids.some((id) => watch.effectsOf(id).length > 0);
    this.checkReplies(record, delivery);
    this.checkRefusal(record, delivery);
    if (isProblem(reply) && reply.problem === 'UNKNOWN' && !INFRASTRUCTURE.test(reply.detail)) {
      this.world.violate(
        'THROWN',
        `${command.op} was left in doubt by what is no fault of the world: ${reply.detail}`,
      );
    }
    if (isProblem(reply) && reply.detail.startsWith(CONTENDED)) {
      this.world.violate(
        'LIVE',
        `${command.op} of ${command.subject} was decided a hundred times, and never done`,
      );
    }
  }

  threw(record: CommandRecord, delivery: Delivery, error: unknown): void {
    delivery.ended_step = this.world.steps;
    delivery.outcome = 'unknown';
    this.world.trace(`${record.command.request_id} threw ${String(error)}`);
    if (error instanceof StoreBroken || error instanceof StoreUnavailable) return;
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.world.violate('THROWN', `${record.command.op} was answered with an exception: ${stack}`);
  }

  /** At the end, when nothing is on its way any more. */
  finish(): void {
    for (const record of this.records) {
      if (record.incarnation === this.incarnation()) this.checkNoEffect(record);
    }
  }

  /** A refusal is an answer like any other: what it says was so at some moment between question and answer. */
  private checkRefusal({ command, incarnation }: CommandRecord, delivery: Delivery): void {
    const { reason } = delivery.reply as Told;
    if (delivery.outcome !== 'refused' || command.subject === null || reason === undefined) return;
    if (incarnation !== this.incarnation()) return;
    const watch = this.observer.watch(command.scope);
    const heads = watch.headsBetween(command.subject, delivery.began_step, this.world.steps);
    if (wasTrue(reason, command.handle, heads)) return;
    this.world.violate(
      'INV-13',
      `${command.op} of ${command.subject} was refused: ${reason}, and it was not so`,
    );
  }

  /** INV-07: whoever was refused every time, and never left in doubt, has changed nothing. */
  private checkNoEffect({ command, deliveries }: CommandRecord): void {
    if (!deliveries.every(({ outcome }) => outcome === 'refused' || outcome === 'nothing')) return;
    const watch = this.observer.watch(command.scope);
    for (const id of command.request_ids) {
      const effects = watch.effectsOf(id);
      const [effect] = effects;
      // A submission that needs a human is not accepted, and still does something: it asks the human.
      if (effect === undefined || effects.some((event) => factOf(event.event_type) === 'escalated')) continue;
      this.world.violate('INV-07', `${command.op} ${id} was refused, and ${effect.event_type} is in the log`);
    }
  }

  /** INV-11: one request, one reply and one effect, however often it arrives. */
  private checkReplies(record: CommandRecord, last: Delivery): void {
    const { command, deliveries } = record;
    if (!command.remembered || record.incarnation !== this.incarnation()) return;
    const watch = this.observer.watch(command.scope);
    for (const id of command.request_ids) {
      const effects = watch.effectsOf(id).map(effectIn);
      const again = effects.find((effect, at) => effects.indexOf(effect) < at);
      if (again !== undefined) this.world.violate('INV-11', `${id} took effect twice: ${again}`);
    }
    for (const other of deliveries) {
      if (other === last || other.outcome !== 'ok' || !other.took_effect) continue;
      if (last.outcome === 'ok' && comparable(other.reply) !== comparable(last.reply)) {
        this.world.violate(
          'INV-11',
          `${command.op} ${command.request_id} was answered ${comparable(other.reply)}, then ${comparable(last.reply)}`,
        );
      }
      const isAfter = other.ended_step !== null && other.ended_step < last.began_step;
      if (last.outcome === 'refused' && isAfter) {
        this.world.violate(
          'INV-11',
          `${command.op} ${command.request_id} was granted, then ${brief(last.reply)}`,
        );
      }
    }
  }

  /** INV-05 and INV-10: what was told as done is in the log, and was done under the handle that was granted. */
  private checkPart(record: CommandRecord, { command, reply, request_id }: Part): void {
    if (outcomeOf(reply) !== 'ok') return;
    const watch = this.observer.watch(command.scope);
    const said = reply as Told;
    const { handle } = command;
    if (handle !== null) {
      if (handle.incarnation < this.incarnation() && !this.isAnsweredAgain(record, request_id)) {
        this.world.violate('INV-01', `a handle from before the loss of history opened ${handle.task_id}`);
      }
      const grant = watch.find(handle.task_id, handle.generation, 'granted');
      if (grant?.request_id !== handle.granted_by) {
        this.world.violate(
          'INV-05',
          `${command.op} was taken under a handle that ${handle.granted_by} never got`,
        );
      }
      const fact = FACT_OF[command.op];
      const isLogged =
        fact === undefined || watch.find(handle.task_id, handle.generation, fact) !== undefined;
      if (!isLogged && !YES_WITHOUT_EVENT.has(command.op)) {
        this.world.violate(
          'INV-10',
          `${command.op} of ${handle.task_id} was told as done and is not in the log`,
        );
      }
    }
    if (said.claim == null || !CLAIMS.has(command.op)) return;
    if (said.claim.tenant_id !== command.scope.tenant_id) {
      this.world.violate(
        'INV-14',
        `${command.scope.tenant_id} was told of a claim of ${said.claim.tenant_id}`,
      );
    }
    const grant = watch.find(said.claim.task_id, said.claim.generation, 'granted');
    const told = record.incarnation === this.incarnation();
    if (told && (grant?.session_id !== said.claim.session_id || grant?.request_id !== request_id)) {
      this.world.violate('INV-10', `the grant of ${said.claim.task_id} to ${request_id} is not in the log`);
    }
  }

  /** What was done and remembered before the loss is told again as it was, and does nothing. */
  private isAnsweredAgain({ command, incarnation }: CommandRecord, request_id: string): boolean {
    const isOfBefore = command.remembered && incarnation < this.incarnation();
    return isOfBefore && !this.observer.watch(command.scope).hasWrittenSinceLoss(request_id);
  }

  private count({ handle }: Command, reply: unknown): void {
    const { reason, parked } = reply as { reason?: string; parked?: string | null };
    if (reason === 'STALE_GENERATION') this.reached.hit('stale reject');
    if (reason === 'FUTURE_GENERATION') this.reached.hit('future generation');
    if (reason === 'DEPENDENCY_CHANGED') this.reached.hit('merge race');
    if (typeof parked === 'string') this.reached.hit('parked');
    if (handle !== null && handle.incarnation < this.incarnation() && outcomeOf(reply) === 'refused') {
      this.reached.hit('old handle refused');
    }
  }
}

/** So few actors never meet so often: whoever gives up for this decides again and again on an old view. */
const CONTENDED = 'Too many others change the same work';

/** What a broken line, a failing disk or a store that gave up say; whatever else leaves somebody in doubt is a bug. */
const INFRASTRUCTURE = /the line broke|again|ENOSPC|EIO/;

/** Whoever holds back what the house holds back for poison in the same moment has one effect, not two. */
const effectIn = ({ event_type, subject, payload }: EventEnvelope): string =>
  `${event_type} ${subject}${payload.by === 'genesis' ? ' by the house' : ''}`;

const CLAIMS: ReadonlySet<string> = new Set(['claim', 'next', 'batch', 'atomic']);

interface Told {
  readonly success?: boolean;
  readonly accepted?: boolean;
  readonly reason?: string;
  readonly claim?: { tenant_id: string; task_id: string; generation: number; session_id: string } | null;
}

interface Part {
  readonly command: Command;
  readonly reply: unknown;
  readonly request_id: string;
}

/** A batch is as many commands as it has items. */
function partsOf(command: Command, reply: unknown): Part[] {
  const { results } = reply as { results?: readonly unknown[] };
  if (results === undefined) return [{ command, reply, request_id: command.request_ids[0] ?? '' }];
  return results.map((one, at) => ({ command, reply: one, request_id: command.request_ids[at] ?? '' }));
}

const FACT_OF: Readonly<Record<string, Fact>> = {
  renew: 'renewed',
  release: 'released',
  submit: 'accepted',
  suspend: 'suspended',
  resume: 'resumed',
  note: 'noted',
};

/** Renewing while suspended, or resuming what was never suspended, is a yes without an event. */
const YES_WITHOUT_EVENT: ReadonlySet<string> = new Set(['renew', 'resume', 'suspend']);

export function outcomeOf(reply: unknown): Delivery['outcome'] {
  if (isProblem(reply)) {
    if (reply.problem === 'UNKNOWN') return 'unknown';
    return reply.problem === 'UNAUTHENTICATED' || isUndecided(reply) ? 'nothing' : 'refused';
  }
  const { success, accepted, results } = reply as Told & { results?: readonly unknown[] };
  if (results !== undefined) {
    const outcomes = results.map(outcomeOf);
    if (outcomes.includes('unknown')) return 'unknown';
    return outcomes.includes('ok') ? 'ok' : outcomes.includes('nothing') ? 'nothing' : 'refused';
  }
  return success === false || accepted === false ? 'refused' : 'ok';
}

/** What two answers to one request must share: a briefing tells the news, and may differ. */
function comparable(reply: unknown): string {
  const { briefing: _, ...rest } = reply as { briefing?: unknown };
  return JSON.stringify(rest);
}

function brief(reply: unknown): string {
  if (isProblem(reply)) return `${reply.problem} (${reply.detail})`;
  const { reason, claim, results } = reply as Told & { results?: readonly unknown[] };
  if (results !== undefined) return results.map(brief).join(', ');
  return `${reason ?? 'done'}${claim == null ? '' : ` ${claim.task_id} g${claim.generation}`}`;
}
