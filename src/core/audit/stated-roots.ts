import type { CheckpointStatement } from './checkpoint.js';

const CHECKPOINTS_KEPT = 1024;

const keyOf = ({ incarnation, position }: CheckpointStatement): string => `${incarnation}/${position}`;

/** Signed roots, to find two for one position of one incarnation: then the signer signed two different histories (equivocation). */
export class StatedRoots {
  private readonly ofAnchors = new Map<string, string>();
  /** Of the last checkpoints in the log, the oldest first. */
  private readonly ofCheckpoints = new Map<string, string>();

  /** Records a signed root, and returns whether it contradicts an earlier one. All anchors are kept. */
  addAnchor(anchor: CheckpointStatement): boolean {
    const key = keyOf(anchor);
    const stated = this.ofAnchors.get(key);
    if (stated === undefined) this.ofAnchors.set(key, anchor.root);
    return stated !== undefined && stated !== anchor.root;
  }

  /** The same; only the last checkpoints are kept. */
  addCheckpoint(checkpoint: CheckpointStatement): boolean {
    const key = keyOf(checkpoint);
    const stated = this.ofAnchors.get(key) ?? this.ofCheckpoints.get(key);
    if (stated === undefined) this.keep(key, checkpoint.root);
    return stated !== undefined && stated !== checkpoint.root;
  }

  private keep(key: string, root: string): void {
    this.ofCheckpoints.set(key, root);
    const oldest = this.ofCheckpoints.keys().next();
    if (this.ofCheckpoints.size > CHECKPOINTS_KEPT && !oldest.done) this.ofCheckpoints.delete(oldest.value);
  }
}
