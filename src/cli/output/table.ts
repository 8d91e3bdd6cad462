import { singleLine, truncate } from './text.js';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** Shrinks first on a narrow terminal. */
  readonly is_flexible?: boolean;
  /** Never shrinks: half of a date or a number would be wrong. */
  readonly is_fixed?: boolean;
  readonly paint?: (cell: string) => string;
}

const GAP = 2;
const CELL_MIN = 6;

/**
 * Rows under a header, truncated to the terminal's width; a pipe (`width` null) gets whole cells. On a terminal that is
 * too narrow for that, each row is a list of its cells.
 */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number | null,
): string {
  const titles = columns.map(({ title }) => title);
  const cells = rows.map((row) => columns.map((column) => singleLine(column.cell(row))));
  const needed = titles.map((title, index) =>
    Math.max(title.length, ...cells.map((line) => line[index]?.length ?? 0)),
  );
  const widths = width === null ? needed : fitWidths(needed, columns, width);
  if (width !== null && lineWidth(widths) > width) return stackedRows(cells, titles, columns);
  const drawn = cells.map((line) =>
    renderRow(line, widths, (cell, index) => columns[index]?.paint?.(cell) ?? cell),
  );
  return [renderRow(titles, widths, (cell) => cell), ...drawn].join('\n');
}

const lineWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1));

/** One line per cell: its title, and the whole cell. A blank line separates the rows. */
function stackedRows(
  cells: readonly (readonly string[])[],
  titles: readonly string[],
  columns: readonly Pick<Column<never>, 'paint'>[],
): string {
  const titleWidth = Math.max(...titles.map((title) => title.length)) + GAP;
  const rowLines = (row: readonly string[]): string[] =>
    row.map((cell, at) => `${titles[at]?.padEnd(titleWidth)}${columns[at]?.paint?.(cell) ?? cell}`.trimEnd());
  return cells.map((row) => rowLines(row).join('\n')).join('\n\n');
}

/** Truncates and pads before painting, because colour codes have no width. */
function renderRow(
  cells: readonly string[],
  widths: readonly number[],
  paint: (cell: string, at: number) => string,
): string {
  const fitting = cells.map((cell, index) => {
    const width = widths[index] ?? 0;
    const shown = truncate(cell, width);
    return paint(shown, index) + ' '.repeat(width - shown.length);
  });
  return fitting.join(' '.repeat(GAP)).trimEnd();
}

/** Shrinks the flexible columns, widest first, then any column that is not fixed. */
function fitWidths(needed: readonly number[], columns: readonly Column<never>[], width: number): number[] {
  const widths = [...needed];
  const widthOf = (at: number): number => widths[at] ?? 0;
  for (let overflow = lineWidth(needed) - width; overflow > 0; overflow -= 1) {
    const shrinkable = [...widths.keys()].filter((at) => widthOf(at) > CELL_MIN && !columns[at]?.is_fixed);
    const flexible = shrinkable.filter((at) => columns[at]?.is_flexible);
    const [widest] = (flexible.length > 0 ? flexible : shrinkable).sort((a, b) => widthOf(b) - widthOf(a));
    if (widest === undefined) break;
    widths[widest] = widthOf(widest) - 1;
  }
  return widths;
}
