/** Time that every thread of this process reads alike, and that nobody sets. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

const ENDS = 0;
const LOST = 1;

/**
 * Until when a claim is surely ours, in memory that threads share: a thread that was too busy to hear of a renewal
 * still reads it here. The end is counted from before the request was sent, so it is never later than the server's.
 */
export class LeaseCell {
  private readonly cells: BigInt64Array;

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(16)) {
    this.cells = new BigInt64Array(memory);
  }

  get ends_ms(): number {
    return Number(Atomics.load(this.cells, ENDS)) / 1e6;
  }

  set ends_ms(at_ms: number) {
    Atomics.store(this.cells, ENDS, BigInt(Math.round(at_ms * 1e6)));
  }

  get lost(): boolean {
    return Atomics.load(this.cells, LOST) === 1n;
  }

  lose(): void {
    Atomics.store(this.cells, LOST, 1n);
  }
}
