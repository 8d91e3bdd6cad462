import type { PutShelf } from './places.js';

const AT_ONCE_MAX = 16;
const BYTES_AT_ONCE_MAX = 32 * 1024 * 1024;

/** Puts blobs, several at a time: a disk makes many files durable in little more time than one. */
export class Puts {
  private readonly running = new Set<Promise<void>>();
  private running_bytes = 0;
  private failure: { readonly error: unknown } | null = null;

  constructor(private readonly shelf: PutShelf) {}

  /** Resolves when there is room for it, which is before it is durable. */
  async put(sha256: string, bytes: Uint8Array): Promise<void> {
    while (this.running.size > 0 && !this.hasRoom(bytes.length)) await Promise.race(this.running);
    this.running_bytes += bytes.length;
    const one = this.shelf.blobs
      .put(this.shelf.key.tenant_id, sha256, bytes)
      .catch((error: unknown) => {
        this.failure ??= { error };
      })
      .finally(() => {
        this.running_bytes -= bytes.length;
        this.running.delete(one);
      });
    this.running.add(one);
  }

  /** Nothing is under way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.running);
  }

  /** Everything that was put is durable when it resolves. */
  async durable(): Promise<void> {
    await this.settled();
    if (this.failure !== null) throw this.failure.error;
  }

  private hasRoom(bytes: number): boolean {
    return this.running.size < AT_ONCE_MAX && this.running_bytes + bytes <= BYTES_AT_ONCE_MAX;
  }
}
