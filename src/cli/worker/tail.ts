/** Keeps the last bytes of a stream, however much comes. */
export class Tail {
  private chunks: Buffer[] = [];
  private length = 0;

  constructor(private readonly bytes_max: number) {}

  add(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.length += chunk.length;
    if (this.length <= this.bytes_max * 2) return;
    const kept = this.bytes();
    this.chunks = [kept];
    this.length = kept.length;
  }

  text(): string {
    return this.bytes().toString('utf8');
  }

  private bytes(): Buffer {
    return Buffer.from(Buffer.concat(this.chunks).subarray(-this.bytes_max));
  }
}
