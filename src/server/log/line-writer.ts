import { setTimeout as sleep } from 'node:timers/promises';
import type { DestinationStream } from 'pino';

/** Appends bytes to a log and resolves with the number written. */
export type AppendBytes = (bytes: Buffer) => Promise<number>;

const DEFAULT_SETTINGS = {
  /** Lines beyond this buffer size are dropped: a log that cannot be written must not fill the memory. */
  pending_chars_max: 4 * 1024 * 1024,
  /** Retry interval for a full pipe. */
  retry_ms: 20,
  /** How long `close` waits for a write that does not complete. */
  close_within_ms: 2000,
};

const NEWLINE = 0x0a;

/**
 * Writes lines to a log that may fail. Never throws and never blocks: a line that cannot be written is counted as
 * lost, and the next one is tried.
 */
export class LogLineWriter implements DestinationStream {
  lostLineCount = 0;
  private pendingLines: string[] = [];
  private pendingChars = 0;
  private drainPromise: Promise<void> | null = null;
  private isClosing = false;
  private isFailing = false;
  /** Whether the log ends in the middle of a line. */
  private isTorn = false;

  constructor(
    private readonly append: AppendBytes,
    /** Called on the first failure, and again on the first failure after a successful write. */
    private readonly onFailure: (error: NodeJS.ErrnoException) => void = () => {},
    private readonly settings = DEFAULT_SETTINGS,
  ) {}

  /** The line must end with a newline. */
  write(line: string): void {
    if (this.pendingChars + line.length > this.settings.pending_chars_max) {
      this.lostLineCount += 1;
      return;
    }
    this.pendingLines.push(escapeControlChars(line));
    this.pendingChars += line.length;
    this.drainPromise ??= this.drain();
  }

  /** Resolves when all lines are written or lost. Does not wait beyond `close_within_ms` for a log without a reader. */
  async close(): Promise<void> {
    this.isClosing = true;
    const timeoutController = new AbortController();
    const timeout = sleep(this.settings.close_within_ms, undefined, { signal: timeoutController.signal });
    await Promise.race([this.drainPromise, timeout.catch(() => {})]);
    timeoutController.abort();
  }

  private async drain(): Promise<void> {
    while (this.pendingLines.length > 0) {
      const lines = this.pendingLines;
      this.pendingLines = [];
      await this.writeAll(lines);
      this.pendingChars = this.pendingLines.reduce((sum, { length }) => sum + length, 0);
    }
    this.drainPromise = null;
  }

  private async writeAll(lines: readonly string[]): Promise<void> {
    let remaining = Buffer.from(lines.join(''));
    try {
      if (this.isTorn) await this.writeSome(Buffer.from('\n'));
      while (remaining.length > 0) remaining = remaining.subarray(await this.writeSome(remaining));
      this.isFailing = false;
    } catch (error) {
      this.lostLineCount += remaining.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0);
      if (!this.isFailing) this.onFailure(error as NodeJS.ErrnoException);
      this.isFailing = true;
    }
  }

  private async writeSome(bytes: Buffer): Promise<number> {
    for (;;) {
      try {
        const writtenBytes = await this.append(bytes);
        if (writtenBytes > 0) this.isTorn = bytes[writtenBytes - 1] !== NEWLINE;
        return writtenBytes;
      } catch (error) {
        const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN';
        if (!isFull || this.isClosing) throw error;
        await sleep(this.settings.retry_ms);
      }
    }
  }
}

/**
 * JSON does not escape these characters: controls and changes of direction, which some terminals interpret, and line
 * separators, at which some programs cut a line in two.
 */
const escapeControlChars = (line: string): string =>
  line.replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
