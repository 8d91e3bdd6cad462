import { toBase64url } from '../../core/audit/audit-values.js';
import { type Checkpoint, checkpointText } from '../../core/audit/checkpoint.js';
import { isoTime } from '../../core/events/envelope.js';
import { EventHistory } from '../queries/history.js';
import type { Project } from '../queue/project.js';
import { isProblem } from '../wire/problem.js';
import { AuditRecords } from './audit-records.js';
import { SinkDelivery } from './delivery.js';
import { EventLeaves } from './event-leaves.js';
import { recordAlarm, recordCheckpoint, recordKey } from './record-checkpoint.js';
import type { AuditOptions, AuditSigner } from './signer.js';
import { TreeBuilder } from './tree-builder.js';

const DEFAULT_EVERY_EVENTS = 4096;
const DEFAULT_EVERY_MS = 60_000;
/** Keeps the event below 64 KiB. Tiles beyond it are listed by the next checkpoints. */
const TILES_LISTED_MAX = 1000;

/**
 * The audit tree of a loaded project. It is built behind the commits: from the leaves that the log passes on, or from
 * the store where it passes none. It continues from the last checkpoint, so nothing but the log is kept.
 */
export class ProjectAudit {
  readonly records: AuditRecords;
  readonly leaves: EventLeaves;
  private readonly deliveries: readonly SinkDelivery[];
  private tree: TreeBuilder | null = null;
  private running: Promise<void> | null = null;
  private lastRunMs: number;

  constructor(
    private readonly project: Project,
    private readonly options: AuditOptions | null,
  ) {
    this.records = new AuditRecords(project);
    this.leaves = new EventLeaves(new EventHistory(project.store, project.environment), project.key);
    this.deliveries = (options?.sinks ?? []).map((sink) => new SinkDelivery(project.key, this.records, sink));
    this.lastRunMs = project.environment.clock.monotonicMs();
    project.onDurable = (firstPosition, leaves) => this.tree?.addLeaves(firstPosition, leaves);
  }

  get isDue(): boolean {
    const { every_events = DEFAULT_EVERY_EVENTS, every_ms = DEFAULT_EVERY_MS } = this.options ?? {};
    const newEvents = this.project.state.position - (this.records.last?.position ?? 0);
    const passedMs = this.project.environment.clock.monotonicMs() - this.lastRunMs;
    return passedMs >= every_ms || (this.tree !== null && newEvents >= every_events);
  }

  /** Sends the checkpoints to the sinks that do not have them. */
  async deliver(): Promise<void> {
    const nowMs = this.project.environment.clock.monotonicMs();
    await Promise.all(this.deliveries.map((delivery) => delivery.deliver(nowMs)));
  }

  /** Checkpoints that a sink has not confirmed yet. */
  get undelivered(): number {
    return this.deliveries.reduce((sum, { pending }) => sum + pending, 0);
  }

  /** Writes a checkpoint if there is something new. Callers that come meanwhile share it. */
  checkpoint(signer: AuditSigner): Promise<void> {
    this.running ??= this.writeCheckpoint(signer).finally(() => {
      this.lastRunMs = this.project.environment.clock.monotonicMs();
      this.running = null;
    });
    return this.running;
  }

  private async writeCheckpoint(signer: AuditSigner): Promise<void> {
    const { project, records } = this;
    await records.read();
    const row = await project.store.project(project.key);
    if (row === null || !records.hasUncoveredEvents(row.position)) return;
    if (!records.keys.isActive(signer.key_id)) {
      const enrolled = await project.run(recordKey(signer));
      if (isProblem(enrolled)) return;
    }
    const tree = await this.treeUpTo(row.position);
    const unsigned = { ...this.describe(tree), key_id: signer.key_id };
    const signature = await signer.sign(checkpointText(project.key, unsigned));
    const written = await project.run(recordCheckpoint({ ...unsigned, signature }));
    if (isProblem(written)) return;
    await records.read();
    await this.compare(unsigned);
  }

  private async treeUpTo(position: number): Promise<TreeBuilder> {
    const lastTree = this.records.lastTree();
    // Another coordinator may be ahead.
    if (this.tree === null || this.tree.size < lastTree.size) this.tree = new TreeBuilder(lastTree);
    const { tree } = this;
    if (tree.size >= position) return tree;
    // The log may pass on the same leaves meanwhile: those that the tree has are skipped.
    await this.leaves.forEach(tree.size, position, ({ event, leaf }) =>
      tree.addLeaves(event.position, [leaf]),
    );
    return tree;
  }

  private describe(tree: TreeBuilder): Omit<Checkpoint, 'key_id' | 'signature'> {
    const { project, records } = this;
    const first = records.tilesListed;
    return {
      position: tree.size,
      root: toBase64url(tree.root()),
      time: isoTime(project.now()),
      // A log that was imported may have checkpoints of a higher one.
      incarnation: Math.max(project.meta.incarnation, records.last?.incarnation ?? 0),
      subtrees: tree.subtrees().map(toBase64url),
      tiles: { first, roots: tree.tileRoots.slice(first, first + TILES_LISTED_MAX).map(toBase64url) },
    };
  }

  /** Another coordinator may have written the checkpoint of this position first. It must have the same root. */
  private async compare({ position, root }: Pick<Checkpoint, 'position' | 'root'>): Promise<void> {
    const written = this.records.checkpoints.findLast((checkpoint) => checkpoint.position === position);
    if (written === undefined || written.root === root) return;
    await this.project.run(recordAlarm({ position, root: written.root, computed_root: root }));
    await this.records.read();
  }
}
