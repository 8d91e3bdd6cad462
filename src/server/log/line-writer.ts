import type { DestinationStream } from 'pino';

/** Writes bytes at the end of a log, and resolves with how many it took. */
export type Append = (bytes: Buffer) => Promise<number>;

export interface LineWriterSettings {
  /** Lines that would make more than this wait are lost: a log that cannot be written must not fill the memory. */
  readonly waiting_chars_max: number;
  /** A pipe that nobody reads is tried again after so long. */
  readonly retry_ms: number;
  /** How long `close` waits for a write that does not end. */
  readonly close_within_ms: number;
}
const SETTINGS: LineWriterSettings = {
  waiting_chars_max: 4 * 1024 * 1024,
  retry_ms: 20,
  close_within_ms: 2000,
};

const NEWLINE = 0x0a;

/**
 * Writes lines to a log that may fail. It never throws and nothing waits for it: a line that cannot be written is lost and
 * counted, and the next one is tried again.
 */
export class LineWriter implements DestinationStream {
  lost_lines = 0;
  private waiting: string[] = [];
  private waiting_chars = 0;
  private writing: Promise<void> | null = null;
  private closing = false;
  private isFailing = false;
  /** The log ends in the middle of a line. */
  private isTorn = false;

  constructor(
    private readonly append: Append,
    /** Called for the first failure, and for the first after lines were written again. */
    private readonly onFailure: (error: NodeJS.ErrnoException) => void = () => {},
    private readonly settings: LineWriterSettings = SETTINGS,
  ) {}

  /** The line ends with a newline. */
  write(line: string): void {
    if (this.waiting_chars + line.length > this.settings.waiting_chars_max) {
      this.lost_lines += 1;
      return;
    }
    this.waiting.push(escaped(line));
    this.waiting_chars += line.length;
    this.writing ??= this.drain();
  }

  /** Resolves when all lines are written or lost. A log that is not read any more is not waited for. */
  async close(): Promise<void> {
    this.closing = true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.settings.close_within_ms);
    });
    await Promise.race([this.writing, late]);
    clearTimeout(timer);
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      const lines = this.waiting;
      this.waiting = [];
      await this.writeAll(lines);
      this.waiting_chars = this.waiting.reduce((sum, { length }) => sum + length, 0);
    }
    this.writing = null;
  }

  private async writeAll(lines: readonly string[]): Promise<void> {
    let left = Buffer.from(lines.join(''));
    try {
      if (this.isTorn) await this.writeSome(Buffer.from('\n'));
      while (left.length > 0) left = left.subarray(await this.writeSome(left));
      this.isFailing = false;
    } catch (error) {
      this.lost_lines += left.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0);
      if (!this.isFailing) this.onFailure(error as NodeJS.ErrnoException);
      this.isFailing = true;
    }
  }

  private async writeSome(bytes: Buffer): Promise<number> {
    for (;;) {
      try {
        const taken = await this.append(bytes);
        if (taken > 0) this.isTorn = bytes[taken - 1] !== NEWLINE;
        return taken;
      } catch (error) {
        const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN';
        if (!isFull || this.closing) throw error;
        await new Promise((resolve) => setTimeout(resolve, this.settings.retry_ms));
      }
    }
  }
}

/** JSON leaves these control characters as they are, and some terminals obey them. */
const escaped = (line: string): string =>
  line.replace(/[\u007f-\u009f]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
