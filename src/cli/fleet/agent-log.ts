import { type FileHandle, open, rename } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';

/** Maximum size of a log file. An agent has at most two: the current file, and the full file before it. */
export const LOG_BYTES_MAX = 4 * 1024 * 1024;
const LINE_CHARS_MAX = 500;

/** The output of one agent in a file. A full file is renamed to `.1`, and replaces an earlier `.1`. */
export class AgentLog {
  /** The last line that is not empty. */
  lastLine = '';
  private partialLine = '';
  private readonly decoder = new StringDecoder('utf8');
  private lastWrite: Promise<void> = Promise.resolve();

  private constructor(
    readonly path: string,
    private file: FileHandle,
    private sizeBytes: number,
    private readonly bytesMax: number,
  ) {}

  static async open(path: string, bytesMax = LOG_BYTES_MAX): Promise<AgentLog> {
    const file = await open(path, 'a', 0o600);
    return new AgentLog(path, file, (await file.stat()).size, bytesMax);
  }

  /** Resolves when the chunk is written, so that a caller who waits reads no faster than the disk writes. */
  write(chunk: Buffer): Promise<void> {
    this.trackLastLine(this.decoder.write(chunk));
    this.lastWrite = this.lastWrite.then(() =>
      this.append(chunk).catch((error: NodeJS.ErrnoException) => {
        // An agent does not stop because its log cannot be written.
        this.lastLine = `${this.path} cannot be written (${error.code ?? error.message})`;
      }),
    );
    return this.lastWrite;
  }

  async close(): Promise<void> {
    await this.lastWrite;
    await this.file.close();
  }

  private async append(chunk: Buffer): Promise<void> {
    if (this.sizeBytes > 0 && this.sizeBytes + chunk.length > this.bytesMax) {
      await rename(this.path, `${this.path}.1`);
      await this.file.close();
      this.file = await open(this.path, 'a', 0o600);
      this.sizeBytes = 0;
    }
    await this.file.appendFile(chunk);
    this.sizeBytes += chunk.length;
  }

  private trackLastLine(text: string): void {
    const lines = `${this.partialLine}${text}`.split('\n');
    this.partialLine = (lines.pop() ?? '').slice(0, LINE_CHARS_MAX);
    const line = lines.findLast((each) => each.trim() !== '');
    if (line !== undefined) this.lastLine = line.slice(0, LINE_CHARS_MAX);
  }
}
