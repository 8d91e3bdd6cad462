import { z } from 'zod';
import { isoTimestamp, nonNegativeInteger } from '../events/fields.js';
import {
  auditKeyId,
  bytes32,
  bytes64,
  idInStatement,
  type ProjectIds,
  timeInStatement,
} from './audit-values.js';

/** A tree has one complete subtree for each bit that is set in its size, a safe integer of 53 bits. */
const SUBTREES_MAX = 53;
/** A checkpoint after a long gap lists only the first new tiles; the checkpoints after it list the others. */
export const TILES_PER_CHECKPOINT_MAX = 4096;

/** Fields that the signature of a checkpoint covers. It also covers the time, whose schema differs between log and anchor. */
const statement = {
  incarnation: nonNegativeInteger,
  /** The number of events that the checkpoint covers, which is the position of the last of them. */
  position: nonNegativeInteger.min(1),
  root: bytes32,
  key_id: auditKeyId,
};

/** The payload of `AUDIT_CHECKPOINT`. */
export const checkpointPayload = z.strictObject({
  ...statement,
  time: isoTimestamp,
  signature: bytes64,
  /** The hashes from which appending continues after a restart, largest subtree first. */
  subtrees: z.array(bytes32).max(SUBTREES_MAX),
  /** The roots of complete tiles, normally those that no earlier checkpoint lists; `first` is the index of the first. */
  tiles: z.strictObject({ first: nonNegativeInteger, roots: z.array(bytes32).max(TILES_PER_CHECKPOINT_MAX) }),
});
export type Checkpoint = z.infer<typeof checkpointPayload>;

export type CheckpointStatement = Pick<Checkpoint, 'incarnation' | 'position' | 'root' | 'time' | 'key_id'>;

/** The text that a checkpoint signs. No field can contain a line break, so no other statement has the same text. */
export const checkpointText = (
  { tenant_id, project_id }: ProjectIds,
  { incarnation, position, root, time, key_id }: CheckpointStatement,
): string =>
  ['genesis-fleet checkpoint 1', tenant_id, project_id, incarnation, position, root, time, key_id].join('\n');

/**
 * An anchor: a checkpoint as it is kept outside the log. It names its project and its key, so that it can be checked on its
 * own.
 */
export const anchorSchema = z.strictObject({
  format: z.literal('genesis-fleet checkpoint 1'),
  tenant_id: idInStatement,
  project_id: idInStatement,
  ...statement,
  time: timeInStatement,
  public_key: bytes32,
  signature: bytes64,
});
export type Anchor = z.infer<typeof anchorSchema>;

export const toAnchor = (
  { tenant_id, project_id }: ProjectIds,
  {
    incarnation,
    position,
    root,
    time,
    key_id,
    signature,
  }: CheckpointStatement & { readonly signature: string },
  public_key: string,
): Anchor => ({
  format: 'genesis-fleet checkpoint 1',
  tenant_id,
  project_id,
  incarnation,
  position,
  root,
  time,
  key_id,
  public_key,
  signature,
});

/** One line of a file of anchors, without the line break; always the same text for the same checkpoint. */
export const anchorText = (anchor: Anchor): string =>
  JSON.stringify(toAnchor(anchor, anchor, anchor.public_key));
