/** Monotonic time, the same in every thread of this process. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

const ENDS_INDEX = 0;
const LOST_INDEX = 1;

/**
 * The time until which a lease certainly lasts, in memory shared between threads: a thread too busy to receive a message
 * still reads renewals here. It is counted from before the request was sent, so it is never later than the server's end.
 */
export class SharedLeaseEnd {
  private readonly cells: BigInt64Array;

  constructor(readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(16)) {
    this.cells = new BigInt64Array(buffer);
  }

  get endsAtMs(): number {
    return Number(Atomics.load(this.cells, ENDS_INDEX)) / 1e6;
  }

  set endsAtMs(atMs: number) {
    Atomics.store(this.cells, ENDS_INDEX, BigInt(Math.round(atMs * 1e6)));
  }

  get isLost(): boolean {
    return Atomics.load(this.cells, LOST_INDEX) === 1n;
  }

  markLost(): void {
    Atomics.store(this.cells, LOST_INDEX, 1n);
  }
}
