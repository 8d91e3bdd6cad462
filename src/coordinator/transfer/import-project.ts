import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Head } from '../../core/claims/head.js';
import { permitHeldUntilMs } from '../../core/claims/lease.js';
import { DEFAULT_LIMITS, rulesLookup } from '../../core/claims/policy.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import {
  checkNewEvent,
  type EventCheck,
  type EventFault,
  envelopeSchema,
} from '../../core/events/catalogue.js';
import { type EventEnvelope, msOf, type NewEvent } from '../../core/events/envelope.js';
import { type AnyHead, fold } from '../../core/fold.js';
import { maxAgentsIn } from '../../core/plan/index.js';
import { HISTORY_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import { emptyWork, evolveWork, subjectsWithOpenClaim, type WorkState } from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import { FUTURE_MS_MAX } from '../../stores/clock.js';
import type { Permit, ProjectKey, Store, Transaction } from '../../stores/store.js';
import { transactionOf } from '../../stores/transaction.js';
import { CLAIMS_SCOPE, SESSIONS_SCOPE, trackScope } from '../queue/permit-limits.js';
import { policyFromRecord } from '../queue/rules-cache.js';
import { projectKeyProblem } from '../wire/project-key.js';
import { ARCHIVE_FORMAT, type ArchiveHeader, type ArchiveLine } from './archive.js';
import { importPermit } from './unfinished-import.js';

const BATCH_TRANSACTIONS = 256;
/**
 * Maximum number of permits per transaction: few enough for the store with the smallest transactions, which also contain a
 * count for each scope.
 */
const PERMITS_PER_TRANSACTION = 40;

/** Why the import wrote nothing, or nothing further. */
export interface ImportRefusal {
  readonly refused: 'ARCHIVE_BROKEN' | 'PROJECT_EXISTS';
  readonly detail: string;
}

export interface ImportedProject extends ProjectKey {
  readonly events: number;
  /** Events already present from an interrupted import. */
  readonly found: number;
}

/**
 * Imports a project unchanged: every event at its position, every head at its generation, every permit. Until its last
 * commit the project is not served. A repeated import resumes; a project that has another history is refused.
 */
export const importProject = (
  store: Store,
  blobs: Blobs,
  lines: AsyncIterable<ArchiveLine>,
  onEvent: (position: number) => void = () => {},
): Promise<ImportedProject | ImportRefusal> => readArchive(store, blobs, lines, onEvent);

/** Why `importProject` would refuse an archive; null if it would not. Reads all of it and writes nothing. */
export async function archiveRefusal(
  store: Store,
  lines: AsyncIterable<ArchiveLine>,
  onEvent: (position: number) => void = () => {},
): Promise<ImportRefusal | null> {
  const outcome = await readArchive(store, null, lines, onEvent);
  return 'refused' in outcome ? outcome : null;
}

/** Reads an archive and imports it. Without `blobs` it is only checked, and nothing is written. */
async function readArchive(
  store: Store,
  blobs: Blobs | null,
  lines: AsyncIterable<ArchiveLine>,
  onEvent: (position: number) => void,
): Promise<ImportedProject | ImportRefusal> {
  const iterator = lines[Symbol.asyncIterator]();
  const first = await iterator.next();
  const header = first.done === true ? null : asHeader(first.value);
  if (header === null) return brokenArchive('It does not start with an archive header.');
  const problem = projectKeyProblem(header);
  if (problem !== null)
    return brokenArchive(`Its header names an invalid project, ${projectText(header)}: ${problem.detail}.`);
  const projectImport = new ProjectImport(store, header, blobs === null);
  await projectImport.begin();
  let lineNumber = 1;
  for (let line = await iterator.next(); line.done !== true; line = await iterator.next()) {
    lineNumber += 1;
    const refusal = await importLine(projectImport, blobs, line.value, lineNumber);
    if (refusal !== null) return refusal;
    onEvent(projectImport.position);
  }
  return projectImport.end();
}

async function importLine(
  projectImport: ProjectImport,
  blobs: Blobs | null,
  line: ArchiveLine,
  lineNumber: number,
) {
  if ('event' in line) return projectImport.addEvent(line.event);
  if (!('blob_sha256' in line)) {
    return brokenArchive(`Line ${lineNumber} (empty lines not counted) is neither an event nor a blob.`);
  }
  if (typeof line.base64 !== 'string') return brokenArchive(`Blob ${line.blob_sha256} has no base64 text.`);
  const bytes = Buffer.from(line.base64, 'base64');
  if (createHash('sha256').update(bytes).digest('hex') !== line.blob_sha256) {
    return brokenArchive(`The contents of blob ${line.blob_sha256} do not match its hash.`);
  }
  await blobs?.put(projectImport.header.tenant_id, line.blob_sha256, bytes);
  return null;
}

class ProjectImport {
  /** Position of the last imported event. */
  position = 0;
  private existingPosition = 0;
  private nowMs = 0;
  private readonly state = emptyWork();
  private readonly checker = new PolicyAwareLogChecker();
  private readonly heads = new Map<string, AnyHead>();
  private transactions: Transaction[] = [];
  private existingEvents: EventEnvelope[] = [];
  /** Permits as of the last event that was already present. */
  private permitsBefore: readonly Permit[] = [];

  constructor(
    private readonly store: Store,
    readonly header: ArchiveHeader,
    private readonly isDryRun: boolean,
  ) {}

  async begin(): Promise<void> {
    this.nowMs = await this.store.now();
    this.existingPosition = (await this.store.project(this.header))?.position ?? 0;
  }

  async addEvent(event: EventEnvelope): Promise<ImportRefusal | null> {
    const fault = this.faultOf(event);
    if (fault !== null) return brokenArchive(fault);
    this.position = event.position;
    const transaction = this.transactionOf(event);
    evolveWork(this.state, event);
    if (event.position === this.existingPosition) this.permitsBefore = permitsOf(this.state);
    if (event.position <= this.existingPosition) return this.compareWithExisting(event);
    // The first event and the mark of an unfinished import are committed together.
    const isFirst = event.position === 1;
    this.transactions.push(
      isFirst ? { ...transaction, permits: [importPermit(this.header, false)] } : transaction,
    );
    return this.transactions.length < BATCH_TRANSACTIONS ? null : this.flush();
  }

  /** Why an event is refused; null if it is not. As from a client, each event must be valid and break no rule. */
  private faultOf(event: EventEnvelope): string | null {
    const { tenant_id, project_id } = this.header;
    if (typeof event !== 'object' || event === null)
      return `The line after event ${this.position} is not an event.`;
    const { position, ...envelope } = event;
    const parsed = envelopeSchema.safeParse(envelope);
    if (!parsed.success) return `Event ${position}: ${parsed.error.issues[0]?.path.join('.')} is not valid.`;
    if (position !== this.position + 1)
      return `Event ${position} follows event ${this.position}: events are missing or out of order.`;
    if (envelope.tenant_id !== tenant_id || envelope.project_id !== project_id) {
      return `Event ${position} belongs to another project: ${envelope.tenant_id}/${envelope.project_id}.`;
    }
    if (msOf(envelope.timestamp) > this.nowMs + FUTURE_MS_MAX)
      return `Event ${position} is from the future: ${envelope.timestamp}.`;
    // An event with a seq changes a head, and one about the history accounts for redacted lines: check both in full.
    const needsFullCheck = envelope.seq !== undefined || envelope.subject === HISTORY_SUBJECT;
    const checked: EventCheck = needsFullCheck ? checkNewEvent(envelope) : { ok: true };
    if (!checked.ok) {
      const { path, message } = checked.faults[0] as EventFault;
      return `Event ${position}: ${path}: ${message}.`;
    }
    const [violation] = this.checker.checkEvent(event);
    return violation === undefined
      ? null
      : `Event ${position} violates ${violation.invariant}: ${violation.message}.`;
  }

  async end(): Promise<ImportedProject | ImportRefusal> {
    const { tenant_id, project_id, position } = this.header;
    if (this.position !== position) {
      return brokenArchive(`It is truncated: it ends with event ${this.position} of ${position}.`);
    }
    if (this.existingPosition > position) return this.projectExistsRefusal();
    if (position > 0) this.addEnd();
    const refusal = await this.flush();
    return refusal ?? { tenant_id, project_id, events: position, found: this.existingPosition };
  }

  private addEnd(): void {
    const changes = this.permitChanges();
    for (let index = 0; index < changes.length; index += PERMITS_PER_TRANSACTION) {
      const permits = changes.slice(index, index + PERMITS_PER_TRANSACTION);
      this.transactions.push(transactionOf(this.header, { permits }));
    }
    // Change the rules, so that decisions that other coordinators made during the import are made again.
    const permits = [importPermit(this.header, true)];
    this.transactions.push(transactionOf(this.header, { permits, changes_rules: true }));
  }

  /** Releases the permits that have ended and sets the current ones: the last entry per member wins. */
  private permitChanges(): Permit[] {
    const freed = this.permitsBefore.map((permit) => ({ ...permit, until_ms: null }));
    return [...freed, ...permitsOf(this.state)];
  }

  private transactionOf({ position: _, ...event }: EventEnvelope): Transaction {
    if (event.seq === undefined || event.subject === undefined)
      return transactionOf(this.header, { loose_events: [event] });
    const { subject, seq } = event;
    const head = fold(this.heads.get(subject) ?? null, event);
    this.heads.set(subject, head);
    return transactionOf(this.header, {
      swaps: [{ subject, expected_seq: seq - 1, head, events: [event as NewEvent] }],
    });
  }

  private async compareWithExisting(event: EventEnvelope): Promise<ImportRefusal | null> {
    if (this.existingEvents.length === 0) {
      const after = event.position - 1;
      this.existingEvents = await this.store.events(this.header, {
        after,
        until_position: this.existingPosition,
        limit: 1000,
      });
    }
    return isDeepStrictEqual(this.existingEvents.shift(), event) ? null : this.projectExistsRefusal();
  }

  private async flush(): Promise<ImportRefusal | null> {
    const { transactions } = this;
    this.transactions = [];
    if (transactions.length === 0 || this.isDryRun) return null;
    const outcomes = await this.store.commit(transactions);
    return outcomes.every(({ kind }) => kind === 'committed') ? null : this.projectExistsRefusal();
  }

  private projectExistsRefusal(): ImportRefusal {
    const { tenant_id, project_id } = this.header;
    const detail = `${tenant_id}/${project_id} already has another history in this store, which was not changed. Import into another store.`;
    return { refused: 'PROJECT_EXISTS', detail };
  }
}

const PROJECT_TEXT_CHARS_MAX = 200;

/** The project of an archive as text. The header is not validated yet, so its names may be long, or not text. */
const projectText = ({ tenant_id, project_id }: ArchiveHeader): string =>
  JSON.stringify(`${tenant_id}/${project_id}`.slice(0, PROJECT_TEXT_CHARS_MAX));

function asHeader(line: ArchiveLine): ArchiveHeader | null {
  return 'archive' in line && line.archive === ARCHIVE_FORMAT ? line : null;
}

const brokenArchive = (why: string): ImportRefusal => ({
  refused: 'ARCHIVE_BROKEN',
  detail: `The archive is not valid. ${why} Export the project again.`,
});

/** The permits that a project's claims hold, as its commits would have set them. */
function permitsOf(state: WorkState): Permit[] {
  const policy = policyFromRecord(state.records.get(POLICY_SUBJECT));
  const rulesOf = rulesLookup(policy, DEFAULT_LIMITS, 0);
  const permits = new Map<string, Permit>();
  const addPermit = (permit: Permit & { readonly until_ms: number }) => {
    const permitKey = `${permit.scope}\n${permit.member}`;
    const existingMs = permits.get(permitKey)?.until_ms ?? 0;
    permits.set(permitKey, { ...permit, until_ms: Math.max(existingMs, permit.until_ms) });
  };
  for (const subject of subjectsWithOpenClaim(state)) {
    const head = state.heads.get(subject) as Head;
    const untilMs = permitHeldUntilMs(head, rulesOf(subject));
    if (head.claim === null || untilMs === null) continue;
    addPermit({ scope: CLAIMS_SCOPE, member: subject, until_ms: untilMs, on_head: true });
    addPermit({ scope: SESSIONS_SCOPE, member: head.claim.session_id, until_ms: untilMs });
    const track = state.plan.get(subject)?.task.track;
    if (track !== undefined && maxAgentsIn(track, policy.max_agents_per_track) !== null) {
      addPermit({ scope: trackScope(track), member: head.claim.agent_id, until_ms: untilMs });
    }
  }
  return [...permits.values()];
}
