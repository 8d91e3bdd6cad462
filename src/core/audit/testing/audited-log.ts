import type { EventEnvelope } from '../../events/envelope.js';
import { AUDIT_SUBJECT } from '../../subject.js';
import { type ProjectIds, toBase64url, utf8 } from '../audit-values.js';
import { type Anchor, type Checkpoint, checkpointText, toAnchor } from '../checkpoint.js';
import { CHECKPOINT_EVENT, KEY_ENROLLED_EVENT } from '../key-events.js';
import { leafText } from '../leaf.js';
import {
  bytesHasher,
  CompactRange,
  consistencyPath,
  inclusionPath,
  leafHash,
  TILE_SIZE,
} from '../merkle-tree.js';
import {
  CONSISTENCY_FORMAT,
  type ConsistencyProof,
  INCLUSION_FORMAT,
  type InclusionProof,
} from '../proof.js';
import { signedRecordText } from '../signed-record.js';
import { subtreeRoot } from '../tile-ranges.js';
import { newSigner, type TestSigner, testSha256 } from './primitives.js';

export const testPayloadDigest = (payload: unknown): string =>
  toBase64url(testSha256(utf8(JSON.stringify(payload))));

/** A log with its tree, all in memory, whose checkpoints are as a coordinator would write them. */
export class AuditedLog {
  readonly events: EventEnvelope[] = [];
  readonly tileRoots: Uint8Array[] = [];
  incarnation = 1;
  private readonly leaves: Uint8Array[] = [];
  private listedTiles = 0;

  constructor(
    readonly project: ProjectIds = { tenant_id: 'acme', project_id: 'shop' },
    readonly signer: TestSigner = newSigner(),
  ) {}

  get size(): number {
    return this.events.length;
  }

  append(event_type: string, payload: Record<string, unknown>, subject?: string): EventEnvelope {
    const position = this.size + 1;
    const event: EventEnvelope = {
      event_id: `00000000-0000-4000-8000-${String(position).padStart(12, '0')}`,
      event_type,
      timestamp: '2026-01-04T06:00:00.000Z',
      ...this.project,
      position,
      ...subjectOf(event_type, subject),
      agent_id: 'alpha',
      payload,
    };
    this.events.push(event);
    this.leaves.push(leafHash(testSha256, utf8(leafText(event, testPayloadDigest(payload)))));
    return event;
  }

  /** Appends an event of another log as it is. */
  appendCopy(event: EventEnvelope): void {
    this.events.push(event);
    this.leaves.push(leafHash(testSha256, utf8(leafText(event, testPayloadDigest(event.payload)))));
  }

  /** A record that only a coordinator may write. */
  appendSigned(
    eventType: string,
    subject: string,
    payload: Record<string, unknown>,
    signer = this.signer,
  ): void {
    const keyed = { ...payload, key_id: signer.key_id };
    const signature = signer.sign(signedRecordText(this.project, eventType, keyed));
    this.append(eventType, { ...keyed, signature }, subject);
  }

  /** Appends notes until the log has this size. */
  fill(size: number): this {
    while (this.size < size) this.append('note', { text: `entry “${this.size}”` });
    return this;
  }

  enrolKey({ key_id, public_key } = this.signer): EventEnvelope {
    return this.append(KEY_ENROLLED_EVENT, { key_id, public_key, how: 'first' });
  }

  compactRange(size: number): CompactRange {
    const compactRange = new CompactRange(bytesHasher(testSha256), undefined, (index, root) => {
      this.tileRoots[index] = root;
    });
    for (const leaf of this.leaves.slice(0, size)) compactRange.append(leaf);
    return compactRange;
  }

  buildCheckpoint(position = this.size, changes: Partial<Checkpoint> = {}, signer = this.signer): Checkpoint {
    const compactRange = this.compactRange(position);
    const first = this.listedTiles;
    this.listedTiles = Math.floor(position / TILE_SIZE);
    const roots = this.tileRoots.slice(first, this.listedTiles).map(toBase64url);
    const statement = {
      incarnation: this.incarnation,
      position,
      root: toBase64url(compactRange.root()),
      time: '2026-01-04T06:00:01.000Z',
      key_id: signer.key_id,
      subtrees: compactRange.subtrees().map(toBase64url),
      tiles: { first, roots },
      ...changes,
    };
    return { signature: signer.sign(checkpointText(this.project, statement)), ...statement, ...changes };
  }

  appendCheckpoint(
    position = this.size,
    changes: Partial<Checkpoint> = {},
    signer = this.signer,
  ): Checkpoint {
    const checkpoint = this.buildCheckpoint(position, changes, signer);
    this.append(CHECKPOINT_EVENT, checkpoint);
    return checkpoint;
  }

  buildAnchor(position = this.size): Anchor {
    const listedTilesBefore = this.listedTiles;
    const anchor = toAnchor(this.project, this.buildCheckpoint(position), this.signer.public_key);
    this.listedTiles = listedTilesBefore;
    return anchor;
  }

  inclusionProof(index: number, size = this.size, withPayload = false): InclusionProof {
    const event = this.events[index]!;
    return {
      format: INCLUSION_FORMAT,
      checkpoint: this.buildAnchor(size),
      leaf: leafText(event, testPayloadDigest(event.payload)),
      index,
      path: inclusionPath(index, size, this.range).map(toBase64url),
      ...(withPayload ? { payload: JSON.stringify(event.payload) } : {}),
    };
  }

  consistencyProof(from: number, to = this.size): ConsistencyProof {
    const path = consistencyPath(from, to, this.range).map(toBase64url);
    return { format: CONSISTENCY_FORMAT, from: this.buildAnchor(from), to: this.buildAnchor(to), path };
  }

  private readonly range = (start: number, end: number): Uint8Array =>
    subtreeRoot(testSha256, this.leaves.slice(start, end));
}

const subjectOf = (eventType: string, explicitSubject: string | undefined): { subject?: string } => {
  const subject = explicitSubject ?? (eventType.startsWith('AUDIT_') ? AUDIT_SUBJECT : undefined);
  return subject === undefined ? {} : { subject };
};
