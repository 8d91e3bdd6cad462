const CHUNKS_BEFORE_CHECK = 4096;
const CHUNK_BYTES_MIN = 16;

/** A body as it arrives, in one growing buffer: keeping each chunk as an object would take hundreds of bytes per chunk. */
export class BodyBuffer {
  length = 0;
  private buffer: Uint8Array = new Uint8Array();
  private chunkCount = 0;

  add(chunk: Uint8Array): void {
    const length = this.length + chunk.length;
    // Most bodies come in one chunk, which is not copied.
    if (this.length === 0) this.buffer = chunk;
    else if (length > this.buffer.length) this.buffer = this.copyOf(Math.max(length, 2 * this.length));
    if (this.length > 0) this.buffer.set(chunk, this.length);
    this.length = length;
    this.chunkCount += 1;
  }

  /** Whether the sender has split a long body into chunks of a few bytes. */
  get hasTinyChunks(): boolean {
    return this.chunkCount > CHUNKS_BEFORE_CHECK && this.length < this.chunkCount * CHUNK_BYTES_MIN;
  }

  bytes(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  private copyOf(capacity: number): Uint8Array {
    const copy = new Uint8Array(capacity);
    copy.set(this.bytes());
    return copy;
  }
}
