/** The last bytes of a stream, and the number of all its bytes. */
export class OutputTail {
  private chunks: Uint8Array[] = [];
  private keptBytes = 0;
  private totalBytes = 0;

  constructor(private readonly bytesMax: number) {}

  get total_bytes(): number {
    return this.totalBytes;
  }

  add(chunk: Uint8Array): void {
    this.totalBytes += chunk.length;
    this.keptBytes += chunk.length;
    this.chunks.push(chunk);
    // Keeps at most one chunk more than needed, so that nothing is copied here.
    while (this.keptBytes - (this.chunks[0]?.length ?? 0) >= this.bytesMax) {
      this.keptBytes -= this.chunks.shift()?.length ?? 0;
    }
  }

  bytes(): Uint8Array {
    const tail = Buffer.concat(this.chunks);
    return tail.subarray(Math.max(0, tail.length - this.bytesMax));
  }
}
