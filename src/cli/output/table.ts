import Table from 'cli-table3';
import { plainText } from './text.js';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  /** A column that gives way when the terminal is narrow; the others keep what they need. */
  readonly is_flexible?: boolean;
  /** Colours a cell. */
  readonly paint?: (cell: string, row: Row) => string;
}

const NO_FRAME = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};
const GAP = 2;
const CELL_MIN = 6;
const STYLE = { head: [], border: [], 'padding-left': 0, 'padding-right': GAP };

/** Rows under their heads, cut to the width of the terminal; a pipe (null) gets every cell whole. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number | null,
): string {
  const cells = rows.map((row) => columns.map((column) => plainText(column.cell(row))));
  const needed = columns.map(({ head }, at) =>
    Math.max(head.length, ...cells.map((line) => line[at]?.length ?? 0)),
  );
  const widths = width === null ? needed : fitted(needed, columns, width);
  const drawn = new Table({ chars: NO_FRAME, style: STYLE, colWidths: widths.map((each) => each + GAP) });
  drawn.push(columns.map(({ head }) => head));
  for (const [number, row] of rows.entries()) {
    drawn.push(columns.map(({ paint = (cell) => cell }, at) => paint(cells[number]?.[at] ?? '', row)));
  }
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Takes from the flexible columns, the widest first, then from whatever is widest. */
function fitted(needed: readonly number[], columns: readonly Column<never>[], width: number): number[] {
  const widths = [...needed];
  const gaps = GAP * (columns.length - 1);
  let over = widths.reduce((sum, each) => sum + each, gaps) - width;
  for (const flexible of [true, false]) {
    while (over > 0) {
      const at = widest(widths, columns, flexible);
      if (at === -1) break;
      widths[at] = (widths[at] ?? 0) - 1;
      over -= 1;
    }
  }
  return widths;
}

function widest(widths: readonly number[], columns: readonly Column<never>[], flexible: boolean): number {
  let found = -1;
  for (const [at, { is_flexible = false }] of columns.entries()) {
    const width = widths[at] ?? 0;
    if (flexible && !is_flexible) continue;
    if (width > CELL_MIN && width > (widths[found] ?? 0)) found = at;
  }
  return found;
}
