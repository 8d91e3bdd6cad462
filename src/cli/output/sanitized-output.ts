import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { sanitize } from './sanitize.js';

/** The only stream that commands write to: it makes plain whatever passes through. */
export class SanitizedOutput extends Writable {
  private readonly decoder = new StringDecoder('utf8');

  constructor(private readonly target: Writable) {
    super({ decodeStrings: false });
  }

  /** Written at once, so that a process that ends right after it loses nothing. */
  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    // Bytes of a character that was cut off by text of another source never get their rest.
    const text = typeof chunk === 'string' ? `${this.decoder.end()}${chunk}` : this.decoder.write(chunk);
    const written = sanitize(text);
    if (written === '' || this.target.write(written)) done();
    else this.target.once('drain', done);
  }
}
