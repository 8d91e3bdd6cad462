/** A growable list of 32-bit integers: four bytes each, where an array of numbers may take eight. */
export class Int32List {
  private items: Int32Array = new Int32Array(16);
  length = 0;

  push(value: number): void {
    if (this.length === this.items.length) {
      const grown = new Int32Array(this.items.length * 2);
      grown.set(this.items);
      this.items = grown;
    }
    this.items[this.length] = value;
    this.length += 1;
  }

  at(index: number): number {
    return this.items[index] as number;
  }

  set(index: number, value: number): void {
    this.items[index] = value;
  }

  /** The first index at or after `from` that holds the value; -1: none. */
  indexOf(value: number, from: number): number {
    return this.view().indexOf(value, from);
  }

  /** The values without a copy. Later pushes may write to the same buffer, beyond the end of this view. */
  view(): Int32Array {
    return this.items.subarray(0, this.length);
  }
}
