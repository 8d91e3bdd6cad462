import { singleLine, truncate } from './text.js';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  /** Shrinks first on a narrow terminal. */
  readonly is_flexible?: boolean;
  readonly paint?: (cell: string) => string;
}

const GAP = 2;
const CELL_MIN = 6;

/** Rows under a header, truncated to the terminal's width; a pipe (`width` null) gets whole cells. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number | null,
): string {
  const heads = columns.map(({ head }) => head);
  const cells = rows.map((row) => columns.map((column) => singleLine(column.cell(row))));
  const needed = heads.map((head, index) =>
    Math.max(head.length, ...cells.map((line) => line[index]?.length ?? 0)),
  );
  const widths = width === null ? needed : fitWidths(needed, columns, width);
  const drawn = cells.map((line) =>
    renderRow(line, widths, (cell, index) => columns[index]?.paint?.(cell) ?? cell),
  );
  return [renderRow(heads, widths, (cell) => cell), ...drawn].join('\n');
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

/** Shrinks the flexible columns, widest first, then any column. */
function fitWidths(needed: readonly number[], columns: readonly Column<never>[], width: number): number[] {
  const widths = [...needed];
  const widthOf = (at: number): number => widths[at] ?? 0;
  const gaps = GAP * (columns.length - 1);
  for (let overflow = needed.reduce((sum, each) => sum + each, gaps) - width; overflow > 0; overflow -= 1) {
    const shrinkable = [...widths.keys()].filter((at) => widthOf(at) > CELL_MIN);
    const flexible = shrinkable.filter((at) => columns[at]?.is_flexible);
    const [widest] = (flexible.length > 0 ? flexible : shrinkable).sort((a, b) => widthOf(b) - widthOf(a));
    if (widest === undefined) break;
    widths[widest] = widthOf(widest) - 1;
  }
  return widths;
}
