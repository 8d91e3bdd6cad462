/** A growing list of numbers, eight bytes each. */
export class NumberList {
  private values: Float64Array = new Float64Array(1024);
  length = 0;

  static of(values: Float64Array): NumberList {
    const list = new NumberList();
    list.values = values;
    list.length = values.length;
    return list;
  }

  add(value: number): void {
    if (this.length === this.values.length) {
      const grown = new Float64Array(Math.max(1024, this.length * 2));
      grown.set(this.values);
      this.values = grown;
    }
    this.values[this.length] = value;
    this.length += 1;
  }

  at(index: number): number | undefined {
    return index < this.length ? this.values[index] : undefined;
  }

  /** A copy, because values may be added while it is written. */
  copy(): Float64Array {
    return this.values.slice(0, this.length);
  }
}

/** The offset of each event's line in the log, by position. */
export class LineOffsets {
  constructor(private readonly values = new NumberList()) {}

  /** Adds the offset of the next position, starting at 1. */
  add(offset: number): void {
    this.values.add(offset);
  }

  at(position: number): number {
    const offset = this.values.at(position - 1);
    if (offset === undefined) throw new Error(`The log has no offset for position ${position}.`);
    return offset;
  }

  copy(): Float64Array {
    return this.values.copy();
  }
}
