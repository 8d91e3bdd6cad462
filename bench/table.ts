/** Formats a table that fits its contents: the first columns are text, left-aligned, and the others numbers. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns = 1,
): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column < textColumns ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

export const integerText = (value: number): string => Math.round(value).toLocaleString('en-US');
export const millisText = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
