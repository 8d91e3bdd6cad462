/** The offset of each event's line in the log, by position: eight bytes per event. */
export class LineOffsets {
  private values: Float64Array = new Float64Array(1024);
  private count = 0;

  static of(values: Float64Array): LineOffsets {
    const offsets = new LineOffsets();
    offsets.values = values;
    offsets.count = values.length;
    return offsets;
  }

  /** Adds the offset of the next position, starting at 1. */
  add(offset: number): void {
    if (this.count === this.values.length) {
      const grown = new Float64Array(Math.max(1024, this.count * 2));
      grown.set(this.values);
      this.values = grown;
    }
    this.values[this.count] = offset;
    this.count += 1;
  }

  at(position: number): number {
    const offset = position <= this.count ? this.values[position - 1] : undefined;
    if (offset === undefined) throw new Error(`The log has no offset for position ${position}.`);
    return offset;
  }

  /** A copy, because offsets may be added while it is written. */
  copy(): Float64Array {
    return this.values.slice(0, this.count);
  }
}
