/** Hashes a string into four well-mixed 32-bit words: the seed of one stream. */
function seedWords(text: string): [number, number, number, number] {
  const words: [number, number, number, number] = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    for (let word = 0; word < 4; word += 1) {
      words[word] = Math.imul((words[word] as number) ^ code, 0x01000193 + 2 * word);
      words[word] = (words[word] as number) ^ ((words[word] as number) >>> (13 + word));
    }
  }
  return words;
}

const WARM_UP_ROUNDS = 12;

/**
 * A deterministic random number generator (sfc32). Streams are named, one per purpose, so that switching a fault off
 * does not change the random numbers of other faults.
 */
export class Rng {
  private a: number;
  private b: number;
  private c: number;
  private counter: number;

  constructor(private readonly name: string) {
    [this.a, this.b, this.c, this.counter] = seedWords(name);
    for (let round = 0; round < WARM_UP_ROUNDS; round += 1) this.word();
  }

  fork(purpose: string | number): Rng {
    return new Rng(`${this.name}/${purpose}`);
  }

  /** In [0, 1). */
  float(): number {
    return this.word() / 2 ** 32;
  }

  /** An integer from 0 to count - 1. */
  int(count: number): number {
    return Math.floor(this.float() * count);
  }

  between(low: number, high: number): number {
    return low + this.float() * (high - low);
  }

  chance(probability: number): boolean {
    return this.float() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)] as T;
  }

  /** Exponentially distributed waiting time with this mean, at most eight times the mean. */
  exponential(mean: number): number {
    return Math.min(-Math.log(1 - this.float()), 8) * mean;
  }

  weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
    const names = Object.keys(weights) as T[];
    let remaining = this.float() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      remaining -= weights[name];
      if (remaining < 0) return name;
    }
    return names[names.length - 1] as T;
  }

  bytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count; at += 1) bytes[at] = this.word();
    return bytes;
  }

  private word(): number {
    const sum = (this.a + this.b + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum;
    return sum >>> 0;
  }
}
