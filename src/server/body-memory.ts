import type { Principal } from './auth/principal.js';

const BYTES_MAX = 1024 ** 3;
/**
 * The first bytes of each body, which are not counted, so that ordinary commands cost nothing. The number of connections
 * limits their sum.
 */
export const FREE_BYTES_PER_BODY = 64 * 1024;

/**
 * The memory for the bodies of requests and responses in progress. One tenant may use half of it and one credential a
 * quarter, so that neither can use up all of it.
 */
export class BodyMemory {
  private readonly usedBytes = new Map<string, number>();

  constructor(private readonly bytesMax = BYTES_MAX) {}

  /** Whether the principal, its tenant and the server stay within their limits. */
  hasSpaceFor(bytes: number, principal: Principal): boolean {
    return this.limitsOf(principal).every(([name, max]) => (this.usedBytes.get(name) ?? 0) + bytes <= max);
  }

  add(bytes: number, principal: Principal): void {
    for (const [name] of this.limitsOf(principal)) {
      const used = (this.usedBytes.get(name) ?? 0) + bytes;
      if (used > 0) this.usedBytes.set(name, used);
      else this.usedBytes.delete(name);
    }
  }

  private limitsOf({ id, tenant_id }: Principal): (readonly [name: string, bytesMax: number])[] {
    const all = ['all', this.bytesMax] as const;
    const credential = [`credential ${id}`, this.bytesMax / 4] as const;
    if (tenant_id === null) return [all, credential];
    return [all, credential, [`tenant ${tenant_id}`, this.bytesMax / 2]];
  }
}

/** The memory that one body has reserved. */
export class BodyReservation {
  isRefused = false;
  private bytes = 0;

  constructor(
    private readonly memory: BodyMemory,
    private readonly principal: Principal,
  ) {}

  /** Reserves memory for a body that has grown to this size; false if there is too little. */
  grow(bodyBytes: number): boolean {
    const added = bodyBytes - FREE_BYTES_PER_BODY - this.bytes;
    if (added <= 0) return true;
    this.isRefused = !this.memory.hasSpaceFor(added, this.principal);
    if (!this.isRefused) this.add(added);
    return !this.isRefused;
  }

  get isUsed(): boolean {
    return this.bytes > 0;
  }

  release(): void {
    if (this.bytes > 0) this.add(-this.bytes);
  }

  private add(bytes: number): void {
    this.bytes += bytes;
    this.memory.add(bytes, this.principal);
  }
}
