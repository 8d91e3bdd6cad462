/** The last bytes of a stream, and how many there were. */
export class OutputTail {
  private chunks: Uint8Array[] = [];
  private keptBytes = 0;
  private seenBytes = 0;

  constructor(private readonly bytesMax: number) {}

  get total_bytes(): number {
    return this.seenBytes;
  }

  add(chunk: Uint8Array): void {
    this.seenBytes += chunk.length;
    this.keptBytes += chunk.length;
    this.chunks.push(chunk);
    // At most one chunk more than needed is kept, so that nothing is copied here.
    while (this.keptBytes - (this.chunks[0]?.length ?? 0) >= this.bytesMax) {
      this.keptBytes -= this.chunks.shift()?.length ?? 0;
    }
  }

  bytes(): Uint8Array {
    const kept = Buffer.concat(this.chunks);
    return kept.subarray(Math.max(0, kept.length - this.bytesMax));
  }
}
