import { singleLine, truncate } from './text.js';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  /** Shrinks first on a narrow terminal. */
  readonly is_flexible?: boolean;
  readonly paint?: (cell: string, row: Row) => string;
}

const GAP = 2;
const CELL_MIN = 6;

/** Rows under a header, truncated to the terminal's width; a pipe (`width` null) gets whole cells. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number | null,
): string {
  const cells = rows.map((row) => columns.map((column) => singleLine(column.cell(row))));
  const needed = columns.map(({ head }, at) =>
    Math.max(head.length, ...cells.map((line) => line[at]?.length ?? 0)),
  );
  const widths = width === null ? needed : fitWidths(needed, columns, width);
  const drawn = rows.map((row, number) =>
    renderRow(cells[number] ?? [], widths, (cell, at) => columns[at]?.paint?.(cell, row) ?? cell),
  );
  const heads = columns.map(({ head }) => head);
  return [renderRow(heads, widths, (cell) => cell), ...drawn].join('\n');
}

/** Truncates and pads before painting, because colour codes have no width. */
function renderRow(
  cells: readonly string[],
  widths: readonly number[],
  paint: (cell: string, at: number) => string,
): string {
  const fitting = cells.map((cell, at) => {
    const width = widths[at] ?? 0;
    const shown = truncate(cell, width);
    return paint(shown, at) + ' '.repeat(width - shown.length);
  });
  return fitting.join(' '.repeat(GAP)).trimEnd();
}

/** Shrinks the flexible columns, widest first, then any column. */
function fitWidths(needed: readonly number[], columns: readonly Column<never>[], width: number): number[] {
  const widths = [...needed];
  const gaps = GAP * (columns.length - 1);
  let overflow = widths.reduce((sum, each) => sum + each, gaps) - width;
  for (const flexible of [true, false]) {
    while (overflow > 0) {
      const at = widestColumn(widths, columns, flexible);
      if (at === -1) break;
      widths[at] = (widths[at] ?? 0) - 1;
      overflow -= 1;
    }
  }
  return widths;
}

function widestColumn(
  widths: readonly number[],
  columns: readonly Column<never>[],
  flexible: boolean,
): number {
  let found = -1;
  for (const [at, { is_flexible = false }] of columns.entries()) {
    const width = widths[at] ?? 0;
    if (flexible && !is_flexible) continue;
    if (width > CELL_MIN && width > (widths[found] ?? 0)) found = at;
  }
  return found;
}
