import type { CheckpointStatement } from './checkpoint.js';
import { CHECKPOINT_LAG_MAX } from './recent-trees.js';

/**
 * Number of checkpoints whose roots are kept. Each checkpoint covers at least one event more than the one before, and older
 * checkpoints are refused because of their position, so this number is enough.
 */
const CHECKPOINTS_KEPT = CHECKPOINT_LAG_MAX;

const keyOf = ({ incarnation, position }: CheckpointStatement): string => `${incarnation}/${position}`;

/** The result of comparing a signed root with the earlier ones. */
type RootComparison = 'new' | 'repeated' | 'contradicts';

/**
 * Signed roots, kept to find two different roots for one position of one incarnation. Two such roots show that two different
 * histories were signed (equivocation).
 */
export class StatedRoots {
  private readonly anchorRoots = new Map<string, string>();
  /** Roots of the last checkpoints in the log, the oldest first. */
  private readonly checkpointRoots = new Map<string, string>();

  /** Adds the root of an anchor. All anchors are kept. */
  addAnchor(anchor: CheckpointStatement): RootComparison {
    const key = keyOf(anchor);
    const earlierRoot = this.anchorRoots.get(key);
    if (earlierRoot === undefined) this.anchorRoots.set(key, anchor.root);
    return compareRoots(earlierRoot, anchor.root);
  }

  /**
   * Adds the root of a checkpoint of the log. A checkpoint normally equals its anchor, so a match with an anchor does not
   * count as a repetition; only a contradiction is reported.
   */
  addCheckpoint(checkpoint: CheckpointStatement): RootComparison {
    const key = keyOf(checkpoint);
    const anchorRoot = this.anchorRoots.get(key);
    if (anchorRoot !== undefined && anchorRoot !== checkpoint.root) return 'contradicts';
    const earlierRoot = this.checkpointRoots.get(key);
    if (earlierRoot === undefined) this.keepRoot(key, checkpoint.root);
    return compareRoots(earlierRoot, checkpoint.root);
  }

  private keepRoot(key: string, root: string): void {
    this.checkpointRoots.set(key, root);
    const oldest = this.checkpointRoots.keys().next();
    if (this.checkpointRoots.size > CHECKPOINTS_KEPT && !oldest.done)
      this.checkpointRoots.delete(oldest.value);
  }
}

function compareRoots(earlierRoot: string | undefined, root: string): RootComparison {
  if (earlierRoot === undefined) return 'new';
  return earlierRoot === root ? 'repeated' : 'contradicts';
}
