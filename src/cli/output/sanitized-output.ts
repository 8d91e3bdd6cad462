import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { sanitize } from './sanitize.js';

/** The only stream that commands write to. It sanitizes everything. */
export class SanitizedOutput extends Writable {
  private readonly decoder = new StringDecoder('utf8');

  constructor(private readonly target: Writable) {
    super({ decodeStrings: false });
  }

  /** Passes text on without buffering, so that a process that exits right afterwards loses nothing. */
  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    // Flush an incomplete character: text from another source ends it.
    const text = typeof chunk === 'string' ? `${this.decoder.end()}${chunk}` : this.decoder.write(chunk);
    const written = sanitize(text);
    if (written === '' || this.target.write(written)) done();
    else this.target.once('drain', done);
  }
}
