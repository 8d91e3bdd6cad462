import type { Rng } from './rng.js';

class GrowingBuffer {
  private buffer = Buffer.alloc(0);
  length = 0;

  view(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** Bytes between the old end and `at` read as zeros. */
  write(at: number, bytes: Uint8Array): void {
    const end = at + bytes.length;
    if (end > this.buffer.length) {
      const grown = Buffer.alloc(Math.max(end, this.buffer.length * 2, 1024));
      this.buffer.copy(grown, 0, 0, this.length);
      this.buffer = grown;
    }
    this.buffer.set(bytes, at);
    this.length = Math.max(this.length, end);
  }

  truncate(size: number): void {
    if (size > this.length) this.write(this.length, Buffer.alloc(size - this.length));
    this.buffer.fill(0, size, this.length);
    this.length = size;
  }

  set(content: Uint8Array): void {
    this.length = 0;
    this.buffer = Buffer.alloc(0);
    this.write(0, content);
  }
}

type UnsyncedChange =
  | { readonly kind: 'write'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly size: number };

/** Small, so that even short writes span several pages. */
const PAGE_BYTES = 256;

/** What a power loss leaves of unsynced changes. */
export type PowerLossOutcome = 'none' | 'all' | 'torn' | 'pages';

/** A file: the content that processes see, and the content that would survive a power loss. */
export class FileNode {
  private readonly visible = new GrowingBuffer();
  private readonly durable = new GrowingBuffer();
  private unsynced: UnsyncedChange[] = [];

  content(): Buffer {
    return this.visible.view();
  }

  /** Takes ownership of the bytes. */
  append(bytes: Uint8Array): void {
    this.change({ kind: 'write', at: this.visible.length, bytes });
  }

  /** Takes ownership of the bytes. */
  writeAt(at: number, bytes: Uint8Array): void {
    this.change({ kind: 'write', at, bytes });
  }

  truncate(size: number): void {
    this.change({ kind: 'truncate', size });
  }

  sync(): void {
    for (const change of this.unsynced) applyChange(this.durable, change);
    this.unsynced = [];
  }

  /** A failed sync: some pages were written, and the system has dropped those that it could not write. */
  failSync(rng: Rng): void {
    this.losePower(rng, 'pages');
  }

  losePower(rng: Rng, survival: PowerLossOutcome): void {
    if (survival === 'all') this.sync();
    if (survival === 'torn') this.applyTorn(rng);
    if (survival === 'pages') this.applyRandomPages(rng);
    this.unsynced = [];
    this.visible.set(this.durable.view());
  }

  /** Silent corruption: flips bits of one stored byte. Returns a function that repairs it. */
  flipByte(at: number): () => void {
    const flip = (): void => {
      for (const bytes of [this.visible, this.durable]) {
        const view = bytes.view();
        if (at < view.length) view[at] = (view[at] as number) ^ 0x15;
      }
    };
    flip();
    return flip;
  }

  /** Silently replaces the stored content. Returns a function that restores it. */
  overwrite(content: Uint8Array): () => void {
    const oldContent = new Uint8Array(this.visible.view());
    const put = (bytes: Uint8Array): void => {
      this.sync();
      for (const stored of [this.visible, this.durable]) stored.set(bytes);
    };
    put(content);
    return () => put(oldContent);
  }

  private change(change: UnsyncedChange): void {
    applyChange(this.visible, change);
    this.unsynced.push(change);
  }

  /** Applies the changes in order up to a random byte, and nothing after it. */
  private applyTorn(rng: Rng): void {
    const total = this.unsynced.reduce((sum, change) => sum + changeSize(change), 0);
    let bytesLeft = rng.int(total + 1);
    for (const change of this.unsynced) {
      if (bytesLeft < changeSize(change)) {
        if (change.kind === 'write') {
          applyChange(this.durable, { ...change, bytes: change.bytes.subarray(0, bytesLeft) });
        }
        return;
      }
      applyChange(this.durable, change);
      bytesLeft -= changeSize(change);
    }
  }

  /** Applies each page at random: a later page may survive where an earlier page does not. */
  private applyRandomPages(rng: Rng): void {
    for (const change of this.unsynced) {
      if (change.kind === 'truncate') {
        if (rng.chance(0.5)) applyChange(this.durable, change);
        continue;
      }
      for (let from = 0; from < change.bytes.length; from += PAGE_BYTES) {
        const bytes = change.bytes.subarray(from, from + PAGE_BYTES);
        if (rng.chance(0.5)) applyChange(this.durable, { kind: 'write', at: change.at + from, bytes });
      }
    }
  }
}

const changeSize = (change: UnsyncedChange): number => (change.kind === 'write' ? change.bytes.length : 1);

function applyChange(bytes: GrowingBuffer, change: UnsyncedChange): void {
  if (change.kind === 'truncate') bytes.truncate(change.size);
  else if (change.bytes.length > 0) bytes.write(change.at, change.bytes);
}
