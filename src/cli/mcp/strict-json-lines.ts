import { Transform, type TransformCallback } from 'node:stream';
import { readStrictJson } from '../../core/strict-json.js';

/** The same limit as the MCP SDK's reader. */
const LINE_BYTES_MAX = 10 * 1024 * 1024;
const INVALID_REQUEST = -32600;
const NEWLINE = 0x0a;

/**
 * Passes on a client's lines, except JSON that is not strict, such as a message in which a name occurs twice: the MCP SDK's
 * reader would silently take the last value. Such a message gets an error reply. Text that is not JSON is passed on.
 */
export class StrictJsonLines extends Transform {
  private line: Buffer[] = [];
  private lineBytes = 0;

  constructor(private readonly reply: (line: string) => void) {
    super();
  }

  override _transform(chunk: Buffer | string, encoding: BufferEncoding, done: TransformCallback): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.append(bytes.subarray(start, end));
      this.forward(Buffer.concat(this.line).toString('utf8'));
      this.line = [];
      this.lineBytes = 0;
      start = end + 1;
    }
    this.append(bytes.subarray(start));
    done(this.lineBytes > LINE_BYTES_MAX ? new Error(`Message exceeds ${LINE_BYTES_MAX} bytes.`) : null);
  }

  private append(part: Buffer): void {
    this.line.push(part);
    this.lineBytes += part.length;
  }

  private forward(line: string): void {
    const parsed = readStrictJson(line);
    const id = 'value' in parsed ? undefined : idOf(line);
    if ('value' in parsed || id === undefined) this.push(`${line}\n`);
    else {
      const error = { code: INVALID_REQUEST, message: `Invalid message: ${parsed.fault}.` };
      this.reply(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
    }
  }
}

/** The id that the error reply must carry. Undefined: invalid JSON, which is left to the MCP SDK's reader. */
function idOf(line: string): string | number | null | undefined {
  try {
    const { id } = (JSON.parse(line) ?? {}) as { id?: unknown };
    return typeof id === 'string' || typeof id === 'number' ? id : null;
  } catch {
    return undefined;
  }
}
