import { StoreBroken } from '../store.js';
import type { Disk } from './disk.js';
import { writeDurableMark } from './durable-mark.js';
import { bytesInFile } from './foreign-lines.js';
import type { RecoveredLog } from './recovery.js';
import { writeSnapshot } from './snapshot.js';
import { messageOf } from './strict-disk.js';

interface MaintenanceOptions {
  readonly disk: Disk;
  readonly folder: string;
  readonly segment_bytes_max: number;
  readonly warn: (sentence: string) => void;
}

const FLUSHES_PER_MARK = 1000;
/** The size of a segment divided by this is the least number of events between snapshots of an open log: 262,144 for 64 MiB. */
const BYTES_PER_SNAPSHOT_EVENT = 256;
/** On close, write a snapshot only if reading the events again would take longer. */
const EVENTS_PER_CLOSING_SNAPSHOT = 10_000;

/** Closes the active segment. The foreign lines at its end are covered by a seal in the next segment. */
export async function closeSegment({ files, state }: RecoveredLog): Promise<void> {
  const end = { seal: state.seal, foreign: state.foreign };
  for (const line of await files.closeSegment(state.index.position + 1, end)) state.foreign.push(line);
}

/**
 * Work on a log after a batch: closing full segments, snapshots, the durable mark. The replies of the batch do not wait for
 * it; the next batch waits while a segment is closed.
 */
export class Maintenance {
  private flushes = 0;
  private isRunning = false;
  private background: Promise<void> = Promise.resolve();

  constructor(
    private readonly options: MaintenanceOptions,
    private snapshotPosition: number,
    /** Resolves when everything in memory is durable; rejects if that log was replaced meanwhile. */
    private readonly whenDurable: (log: RecoveredLog) => Promise<void>,
  ) {}

  /** Called when a batch is durable; memory may be ahead of it. */
  async afterFlush(log: RecoveredLog): Promise<void> {
    this.flushes += 1;
    const { first_position, bytes } = log.files.last;
    const position = log.state.index.position;
    if (bytes >= this.options.segment_bytes_max && position >= first_position) {
      await this.closeFullSegment(log);
      if (this.isSnapshotDue(log)) this.inBackground(() => this.snapshot(log));
    } else if (this.flushes % FLUSHES_PER_MARK === 0) {
      this.inBackground(() => this.writeMark(log));
    }
  }

  /** `log` null: its state must not be written. */
  async close(log: RecoveredLog | null): Promise<void> {
    await this.background;
    if (log === null) return;
    if (log.state.index.position - this.snapshotPosition >= EVENTS_PER_CLOSING_SNAPSHOT) {
      await this.orWarn(() => this.snapshot(log));
    }
    await this.orWarn(() => this.writeMark(log));
  }

  /**
   * A snapshot writes every head. It is due after as many events as there are heads, but not before reading the events
   * again would take seconds. So it adds little to the cost of each event.
   */
  private isSnapshotDue({ state }: RecoveredLog): boolean {
    const eventsMin = this.options.segment_bytes_max / BYTES_PER_SNAPSHOT_EVENT;
    const since = state.index.position - this.snapshotPosition;
    return since >= Math.max(state.ledger.head_count, eventsMin);
  }

  /** Runs one action at a time; an action requested while another runs is skipped until the next occasion. */
  private inBackground(action: () => Promise<void>): void {
    if (this.isRunning) return;
    this.isRunning = true;
    this.background = this.orWarn(action).finally(() => {
      this.isRunning = false;
    });
  }

  private async closeFullSegment(log: RecoveredLog): Promise<void> {
    try {
      await closeSegment(log);
    } catch (error) {
      if (error instanceof StoreBroken) throw error;
      this.options.warn(
        `${this.options.folder}: the full segment could not be closed (${messageOf(error)}). It continues to grow. Check the disk.`,
      );
    }
  }

  private async snapshot(log: RecoveredLog): Promise<void> {
    const { disk, folder } = this.options;
    const { ledger, index, offsets, blocks, foreign, seal, newest_ms } = log.state;
    const position = index.position;
    const segments = log.files.segments.map(({ first_position, bytes }) => ({ first_position, bytes }));
    const source = {
      point: { position, seal, first_seal_before: blocks.sealBefore, newest_ms, segments },
      ledger: ledger.snapshot(),
      index: index.exportState(),
      offsets: offsets.copy(),
      blocks: blocks.copy(),
      foreign: [...foreign],
    };
    await writeSnapshot(disk, folder, source, () => this.whenDurable(log));
    this.snapshotPosition = position;
    await this.writeMark(log);
  }

  private writeMark(log: RecoveredLog): Promise<void> {
    const { first_position } = log.files.last;
    // Foreign lines that no seal covers are not counted: nothing proves what they were.
    const bytes = Math.max(0, log.files.last.bytes - bytesInFile(log.state.foreign));
    const mark = { position: log.state.index.position, first_position, bytes };
    return writeDurableMark(this.options.disk, this.options.folder, mark);
  }

  private async orWarn(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      // The log itself is intact; it only takes longer to open.
      this.options.warn(
        `${this.options.folder}: its snapshot or durable mark could not be written (${messageOf(error)}). The log is intact, but takes longer to open. Check the disk.`,
      );
    }
  }
}
