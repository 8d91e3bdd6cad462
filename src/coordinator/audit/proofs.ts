import { toBase64url } from '../../core/audit/audit-values.js';
import { consistencyPath, type HashOfRange, inclusionPath, TILE_SIZE } from '../../core/audit/merkle-tree.js';
import {
  CONSISTENCY_FORMAT,
  type ConsistencyProof,
  INCLUSION_FORMAT,
  type InclusionProof,
} from '../../core/audit/proof.js';
import {
  rangeRootsFromTiles,
  subtreeRoot,
  tilesForConsistency,
  tilesForInclusion,
} from '../../core/audit/tile-ranges.js';
import { type Problem, problem } from '../wire/problem.js';
import { sha256 } from './audit-hash.js';
import type { AuditRecords, SignedRoot } from './audit-records.js';
import type { EventLeaf, EventLeaves } from './event-leaves.js';

/** The checkpoints and leaves from which a proof is built. */
export interface ProofSource {
  readonly records: AuditRecords;
  readonly leaves: EventLeaves;
}

/** Proves that an event is in the log that the last checkpoint covers. */
export async function proveInclusion(
  source: ProofSource,
  position: number,
): Promise<InclusionProof | Problem> {
  const checkpoint = source.records.lastCheckpoint;
  if (checkpoint === null || checkpoint.position < position) return notCoveredProblem(position, checkpoint);
  const eventLeaf = await source.leaves.leafAt(position);
  if (eventLeaf === null) return problem('NOT_FOUND', `There is no event at position ${position}.`);
  const index = position - 1;
  const rootOfRange = await loadRangeRoots(
    source,
    tilesForInclusion(index, checkpoint.position),
    checkpoint.position,
  );
  return {
    format: INCLUSION_FORMAT,
    checkpoint: source.records.anchorOf(checkpoint),
    leaf: eventLeaf.leaf,
    index,
    path: inclusionPath(index, checkpoint.position, rootOfRange).map(toBase64url),
    ...payloadOf(eventLeaf),
  };
}

/** Maximum length of a payload in a proof, which is a small file. A longer one is compared by the digest in the leaf. */
const PAYLOAD_CHARS_MAX = 1024;

function payloadOf({ event, isRedacted }: EventLeaf): { payload?: string } {
  const payload = JSON.stringify(event.payload);
  return isRedacted || payload.length > PAYLOAD_CHARS_MAX ? {} : { payload };
}

/** Proves that the log at a checkpoint is a prefix of the log at a later checkpoint, by default the last. */
export async function proveConsistency(
  source: ProofSource,
  from: number,
  to: number | null,
): Promise<ConsistencyProof | Problem> {
  const { records } = source;
  const [older, newer] = [records.rootAt(from), to === null ? records.lastCheckpoint : records.rootAt(to)];
  if (older === null || newer === null)
    return noCheckpointAtProblem(older === null ? from : to, records.lastCheckpoint);
  if (older.position > newer.position)
    return problem('INVALID_REQUEST', `from: expected a position of at most ${newer.position}`);
  const tiles = tilesForConsistency(older.position, newer.position);
  const rootOfRange = await loadRangeRoots(source, tiles, newer.position);
  return {
    format: CONSISTENCY_FORMAT,
    from: records.anchorOf(older),
    to: records.anchorOf(newer),
    path: consistencyPath(older.position, newer.position, rootOfRange).map(toBase64url),
  };
}

async function loadRangeRoots(
  { records, leaves }: ProofSource,
  tiles: readonly number[],
  treeSize: number,
): Promise<HashOfRange> {
  await fillTileRoots({ records, leaves }, treeSize);
  const leavesOfTile = new Map<number, readonly Uint8Array[]>();
  for (const tile of tiles) leavesOfTile.set(tile, await leaves.ofTile(tile, treeSize));
  return rangeRootsFromTiles({ hash: sha256, tileRoots: records.tileRoots, leavesOfTile });
}

/** Computes the roots of tiles that no checkpoint lists yet: one checkpoint of a long log lists only some of them. */
async function fillTileRoots({ records, leaves }: ProofSource, treeSize: number): Promise<void> {
  const { tileRoots } = records;
  for (let tile = tileRoots.length; (tile + 1) * TILE_SIZE <= treeSize; tile += 1)
    tileRoots[tile] = subtreeRoot(sha256, await leaves.ofTile(tile, treeSize));
}

export const noCheckpointProblem = (): Problem =>
  problem(
    'NOT_FOUND',
    'The log has no checkpoint yet. A server with an audit key writes the first one within a minute.',
  );

function notCoveredProblem(position: number, last: SignedRoot | null): Problem {
  if (last === null) return noCheckpointProblem();
  const detail = `Position ${position} has no checkpoint yet: the last one covers positions up to ${last.position}. Try again in a minute.`;
  return problem('NOT_FOUND', detail);
}

function noCheckpointAtProblem(position: number | null, last: SignedRoot | null): Problem {
  if (last === null) return noCheckpointProblem();
  const detail = `There is no checkpoint at position ${position}; the last one is at ${last.position}. Pass the position of a checkpoint that you kept.`;
  return problem('NOT_FOUND', detail);
}
