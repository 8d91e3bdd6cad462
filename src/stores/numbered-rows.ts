/** Distinct rows, numbered 1, 2, 3 … in order of appearance. */
export class NumberedRows<Row extends readonly (string | number)[]> {
  readonly rows: Row[] = [];
  private readonly numbers = new Map<string, number>();

  numberOf(...row: Row): number {
    const key = row.join('\n');
    const existing = this.numbers.get(key);
    if (existing !== undefined) return existing;
    const rowNumber = this.rows.push(row);
    this.numbers.set(key, rowNumber);
    return rowNumber;
  }

  row(rowNumber: number): Row {
    return this.rows[rowNumber - 1] as Row;
  }

  column<At extends number>(at: At): Row[At][] {
    return this.rows.map((row) => row[at]);
  }
}
