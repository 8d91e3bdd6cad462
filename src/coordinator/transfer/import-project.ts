import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { LogJudge } from '../../core/claims/log-judge.js';
import {
  checkNewEvent,
  type EventCheck,
  type EventFault,
  envelopeSchema,
} from '../../core/events/catalogue.js';
import type { EventEnvelope, NewEvent } from '../../core/events/envelope.js';
import { type AnyHead, fold } from '../../core/fold.js';
import { emptyWork, evolveWork } from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Slot, Store, Unit } from '../../stores/store.js';
import { unitOf } from '../../stores/unit.js';
import { scopeFault } from '../scope.js';
import { ARCHIVE_FORMAT, type ArchiveHeader, type ArchiveLine } from './archive.js';
import { placesOf } from './places.js';

const BATCH = 256;

/** Nothing, or nothing more, was brought in. */
export interface ImportRefusal {
  readonly refused: 'ARCHIVE_BROKEN' | 'PROJECT_EXISTS';
  readonly detail: string;
}

export interface Imported extends ProjectKey {
  readonly events: number;
  /** Events that were there already, from an import that was cut short. */
  readonly found: number;
}

/**
 * Brings a project into a store as it was: every event at its position, every head at its generation, every place that
 * a claim takes. Repeated, it goes on where it stopped; a project that has a history of its own is left alone.
 */
export async function importProject(
  store: Store,
  blobs: Blobs,
  lines: AsyncIterable<ArchiveLine>,
  onEvent: (position: number) => void = () => {},
): Promise<Imported | ImportRefusal> {
  const reading = lines[Symbol.asyncIterator]();
  const first = await reading.next();
  const header = first.done === true ? null : headerIn(first.value);
  if (header === null) return broken('It does not begin with the header of an archive.');
  const fault = scopeFault(header);
  if (fault !== null) return broken(fault.detail);
  const moving = new Move(store, header);
  await moving.begin();
  for (let line = await reading.next(); line.done !== true; line = await reading.next()) {
    const refusal = await take(moving, blobs, line.value);
    if (refusal !== null) return refusal;
    onEvent(moving.position);
  }
  return moving.end();
}

async function take(moving: Move, blobs: Blobs, line: ArchiveLine): Promise<ImportRefusal | null> {
  if ('event' in line) return moving.event(line.event);
  if (!('blob_sha256' in line)) return broken('A line of it is neither an event nor a blob.');
  const bytes = Buffer.from(line.base64, 'base64');
  if (createHash('sha256').update(bytes).digest('hex') !== line.blob_sha256) {
    return broken(`The blob ${line.blob_sha256} has other contents than its name says.`);
  }
  await blobs.put(moving.header.tenant_id, line.blob_sha256, bytes);
  return null;
}

/** One project on its way into a store. */
class Move {
  /** Of the last event taken. */
  position = 0;
  private found = 0;
  private readonly state = emptyWork();
  private readonly judge = new LogJudge();
  private readonly heads = new Map<string, AnyHead>();
  private units: Unit[] = [];
  private there: EventEnvelope[] = [];
  /** What was occupied after the last event that was there already. */
  private occupied_before: readonly Slot[] = [];

  constructor(
    private readonly store: Store,
    readonly header: ArchiveHeader,
  ) {}

  async begin(): Promise<void> {
    this.found = (await this.store.project(this.header))?.position ?? 0;
  }

  async event(event: EventEnvelope): Promise<ImportRefusal | null> {
    const fault = this.faultOf(event);
    if (fault !== null) return broken(fault);
    this.position = event.position;
    const unit = this.unitOf(event);
    evolveWork(this.state, event);
    if (event.position === this.found) this.occupied_before = placesOf(this.state);
    if (event.position <= this.found) return this.compare(event);
    this.units.push(unit);
    return this.units.length < BATCH ? null : this.flush();
  }

  /** What an archive says is believed no more than what a client says: each event must be one, and break no rule. */
  private faultOf(event: EventEnvelope): string | null {
    const { tenant_id, project_id } = this.header;
    if (typeof event !== 'object' || event === null)
      return `What follows event ${this.position} is no event.`;
    const { position, ...said } = event;
    const read = envelopeSchema.safeParse(said);
    if (!read.success)
      return `Event ${position}: ${read.error.issues[0]?.path.join('.')} is not as it should be.`;
    if (position !== this.position + 1) return `Event ${position} follows event ${this.position}.`;
    if (said.tenant_id !== tenant_id || said.project_id !== project_id) {
      return `Event ${position} belongs to ${said.tenant_id}/${said.project_id}.`;
    }
    // It moves a head, and a head is believed.
    const checked: EventCheck = said.seq === undefined ? { ok: true } : checkNewEvent(said);
    if (!checked.ok) {
      const { path, message } = checked.faults[0] as EventFault;
      return `Event ${position}: ${path}: ${message}.`;
    }
    const [violation] = this.judge.see(event);
    return violation === undefined
      ? null
      : `Event ${position} breaks ${violation.invariant}: ${violation.says}.`;
  }

  async end(): Promise<Imported | ImportRefusal> {
    const { tenant_id, project_id, position } = this.header;
    if (this.position !== position) {
      return broken(`It was cut short: it ends with event ${this.position} of ${position}.`);
    }
    if (this.found > position) return this.occupied();
    // Other rules than before: whatever another coordinator decided on the way here is decided anew.
    if (position > 0) this.units.push(unitOf(this.header, { slots: this.slots(), changes_rules: true }));
    const refusal = await this.flush();
    return refusal ?? { tenant_id, project_id, events: position, found: this.found };
  }

  /** Of two words about one place the last stands: what has ended since is freed, what goes on is taken. */
  private slots(): Slot[] {
    const freed = this.occupied_before.map((place) => ({ ...place, until_ms: null }));
    return [...freed, ...placesOf(this.state)];
  }

  private unitOf({ position: _, ...event }: EventEnvelope): Unit {
    if (event.seq === undefined || event.subject === undefined)
      return unitOf(this.header, { notes: [event] });
    const { subject, seq } = event;
    const head = fold(this.heads.get(subject) ?? null, event);
    this.heads.set(subject, head);
    return unitOf(this.header, {
      swaps: [{ subject, expected_seq: seq - 1, head, events: [event as NewEvent] }],
    });
  }

  private async compare(event: EventEnvelope): Promise<ImportRefusal | null> {
    if (this.there.length === 0) {
      const after = event.position - 1;
      this.there = await this.store.events(this.header, { after, until_position: this.found, limit: 1000 });
    }
    return isDeepStrictEqual(this.there.shift(), event) ? null : this.occupied();
  }

  private async flush(): Promise<ImportRefusal | null> {
    const { units } = this;
    this.units = [];
    if (units.length === 0) return null;
    const outcomes = await this.store.commit(units);
    return outcomes.every(({ kind }) => kind === 'committed') ? null : this.occupied();
  }

  private occupied(): ImportRefusal {
    const { tenant_id, project_id } = this.header;
    const detail = `${tenant_id}/${project_id} has a history of its own in this store. Nothing of it was changed.`;
    return { refused: 'PROJECT_EXISTS', detail };
  }
}

function headerIn(line: ArchiveLine): ArchiveHeader | null {
  return 'archive' in line && line.archive === ARCHIVE_FORMAT ? line : null;
}

const broken = (why: string): ImportRefusal => ({
  refused: 'ARCHIVE_BROKEN',
  detail: `This archive cannot be read. ${why}`,
});
