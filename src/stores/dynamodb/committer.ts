import { randomUUID } from 'node:crypto';
import type { SteadyClock } from '../clock.js';
import { type Outcome, type ProjectKey, StoreUnavailable, StoreUncertain, type Unit } from '../store.js';
import type { DynamodbBlobs } from './blobs.js';
import { Draft, type Need } from './draft.js';
import { type Dynamo, pause } from './dynamo.js';
import { headOf, projectOf, requestOf, untilOf } from './items.js';
import { headKey, type Item, type Key, memberKey, requestKey, rowKey } from './keys.js';
import { Known, memberName, NO_PROJECT } from './known.js';
import type { Places } from './places.js';
import { MARK_INDEX, type Write, Writer, type Written } from './writes.js';

/** How long others may come first, and the clock by which that is measured. */
export interface Patience {
  readonly contention_ms: number;
  monotonicMs(): number;
}

/** Commits the units of one project, one call after another: its row lets through one transaction at a time. */
export class Committer {
  private known: Known | null = null;
  private line: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(
    private readonly project: ProjectKey,
    private readonly dynamo: Dynamo,
    private readonly blobs: DynamodbBlobs,
    private readonly places: Places,
    private readonly clock: SteadyClock,
    private readonly patience: Patience,
  ) {}

  get idle(): boolean {
    return this.waiting === 0;
  }

  commit(units: readonly Unit[]): Promise<Outcome[]> {
    this.waiting += 1;
    const turn = this.line
      .then(() => this.run(units))
      .finally(() => {
        this.waiting -= 1;
      });
    this.line = turn.catch(() => undefined);
    return turn;
  }

  private async run(units: readonly Unit[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    let isWritten = false;
    try {
      const known = await this.begin();
      const { contention_ms } = this.patience;
      let moved_ms = this.patience.monotonicMs();
      for (let round = 0; outcomes.length < units.length; round += 1) {
        if (this.patience.monotonicMs() - moved_ms > contention_ms) {
          throw new StoreUnavailable('Too many others change the same project at once.');
        }
        const version = known.project.version;
        const draft = await this.step(known, units.slice(outcomes.length));
        if (draft === null) {
          if (known.project.version !== version) await pause(round);
          continue;
        }
        outcomes.push(...draft.outcomes);
        isWritten ||= draft.writes;
        moved_ms = this.patience.monotonicMs();
      }
      return outcomes;
    } catch (error) {
      this.known = null;
      if (isWritten && error instanceof StoreUnavailable) throw new StoreUncertain(error.message);
      throw error;
    }
  }

  private async begin(): Promise<Known> {
    if (this.known === null) {
      this.known = new Known();
      await this.readProject(this.known);
    } else {
      this.known.begin();
    }
    return this.known;
  }

  /** As many units as one transaction takes. Null: something was learnt, and they must be decided again. */
  private async step(known: Known, units: readonly Unit[]): Promise<Draft | null> {
    const draft = new Draft(known, Math.max(this.clock.now(), known.project.now_ms));
    this.clock.advanceTo(draft.now_ms);
    for (const unit of units) {
      const need = draft.take(unit);
      if (need === null) continue;
      if (need.kind === 'send') break;
      await this.satisfy(known, need, draft.now_ms);
      return null;
    }
    if (draft.writes) return this.send(known, draft);
    if (known.fresh) return draft;
    await this.readProject(known);
    return null;
  }

  private async satisfy(known: Known, need: Exclude<Need, { kind: 'send' }>, now_ms: number): Promise<void> {
    if (need.kind === 'read') return this.read(known, need);
    const room = await this.places.makeRoom(this.project, need, now_ms);
    if (room === null) return;
    known.shares.set(need.scope, room.share);
    if (room.counted !== null) known.counted.set(need.scope, room.counted);
  }

  private async read(known: Known, need: Extract<Need, { kind: 'read' }>): Promise<void> {
    const { project, dynamo } = this;
    const { state, requests } = dynamo.tables;
    await this.readProject(known);
    const [heads, kept, members] = await Promise.all([
      this.found(
        state,
        need.subjects.map((subject) => headKey(project, subject)),
      ),
      this.found(
        requests,
        need.requests.map((key) => requestKey(project, key)),
      ),
      this.found(
        state,
        need.members.map(({ scope, member }) => memberKey(project, scope, member)),
      ),
    ]);
    for (const [index, subject] of need.subjects.entries()) {
      const item = heads[index];
      known.heads.set(subject, item == null ? null : await headOf(item, this.blobs, project.tenant_id));
    }
    for (const [index, key] of need.requests.entries()) {
      const item = kept[index];
      known.requests.set(key, item == null ? null : requestOf(item));
    }
    for (const [index, { scope, member }] of need.members.entries()) {
      const item = members[index];
      known.members.set(memberName(scope, member), item == null ? null : untilOf(item));
    }
  }

  /** Items in the order of their keys; null where there is none. */
  private async found(table: string, keys: readonly Key[]): Promise<(Item | null)[]> {
    const named = new Map(keys.map((key) => [nameOf(key), key]));
    const items = await this.dynamo.getAll(table, [...named.values()]);
    const there = new Map(items.map((item) => [nameOf(item), item]));
    return keys.map((key) => there.get(nameOf(key)) ?? null);
  }

  private async readProject(known: Known): Promise<void> {
    const item = await this.dynamo.get(this.dynamo.tables.state, rowKey(this.project));
    known.learnProject(item === undefined ? NO_PROJECT : projectOf(item));
  }

  private async send(known: Known, draft: Draft): Promise<Draft | null> {
    const attempt_id = randomUUID();
    const { tables } = this.dynamo;
    const writer = new Writer(this.project, known, draft, attempt_id, tables, this.blobs);
    const written = writer.write();
    await this.prepare(written);
    const result = await this.dynamo.transact({
      id: attempt_id,
      writes: written.writes.map(({ item }) => item),
      mark: { index: MARK_INDEX, table: tables.requests, item: writer.markItem() },
      not_after_ms: draft.not_after_ms,
    });
    known.counted.clear();
    if (result.kind === 'done') {
      apply(draft, known);
      return draft;
    }
    if (result.kind === 'cancelled') await learn(written.writes, result.reasons);
    return null;
  }

  /** What the items of the transaction refer to is there before they are. */
  private async prepare({ beside, hints }: Written): Promise<void> {
    for (const text of beside) {
      if (text.beside !== null) {
        await this.blobs.put(this.project.tenant_id, text.beside.sha256, text.beside.bytes);
      }
    }
    await this.dynamo.putAll(this.dynamo.tables.events, hints);
  }
}

/** The project's row comes first among the writes: what it teaches makes room for what the others do. */
async function learn(
  writes: readonly Write[],
  reasons: readonly { Code?: string; Item?: Record<string, unknown> }[],
): Promise<void> {
  for (const [index, { Code, Item: item }] of reasons.entries()) {
    if (Code === 'ConditionalCheckFailed') await writes[index]?.learn?.(item as Item | undefined);
  }
}

/** The transaction happened: what it wrote is what is there. */
function apply(draft: Draft, known: Known): void {
  known.learnOwn(draft.project);
  for (const [subject, { head, swapped }] of draft.heads) {
    if (swapped) known.heads.set(subject, head as NonNullable<typeof head>);
  }
  for (const [key, request] of draft.requests) known.requests.set(key, request);
  for (const event_id of draft.notes) known.notes.add(event_id);
  for (const [name, { until_ms }] of draft.members) known.members.set(name, until_ms);
  for (const [scope, { delta }] of draft.shares) {
    const share = known.shares.get(scope);
    if (share == null) continue;
    const { registered, spare, room_max } = share;
    known.shares.set(scope, { registered: registered + delta, spare: spare - delta, room_max });
  }
}

const nameOf = ({ pk, sk }: Item): string => JSON.stringify([pk?.S, sk?.S]);
