/** Keeps the last bytes of a stream in bounded memory. */
export class OutputTail {
  private chunks: Buffer[] = [];
  private length = 0;

  constructor(private readonly bytesMax: number) {}

  add(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.length += chunk.length;
    if (this.length <= this.bytesMax * 2) return;
    const kept = this.bytes();
    this.chunks = [kept];
    this.length = kept.length;
  }

  text(): string {
    return this.bytes().toString('utf8');
  }

  private bytes(): Buffer {
    return Buffer.from(Buffer.concat(this.chunks).subarray(-this.bytesMax));
  }
}
