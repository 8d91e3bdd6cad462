/** A line that both texts have, that only the old text has, or that only the new text has. */
interface DiffLine {
  readonly kind: ' ' | '-' | '+';
  /** With its line break, if it has one. */
  readonly text: string;
}

/** Bounds the work and the memory. If more lines differ, everything from the first to the last difference is replaced. */
const EDITS_MAX = 2000;
const CONTEXT_LINES = 3;

/** The unified diff of two texts, without file headers; empty if the texts are equal. */
export function unifiedDiff(before: string, after: string): string {
  const lines = diffLines(linesOf(before), linesOf(after));
  return hunksOf(lines)
    .flatMap(({ header, lines }) => [header, ...lines.map(renderLine)])
    .join('\n');
}

const renderLine = ({ kind, text }: DiffLine): string =>
  text.endsWith('\n') ? `${kind}${text.slice(0, -1)}` : `${kind}${text}\n\\ No newline at end of file`;

const linesOf = (text: string): string[] => text.split(/(?<=\n)/).filter((line) => line !== '');

function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let commonEndLength = 0;
  const commonEndMax = Math.min(before.length, after.length) - start;
  while (
    commonEndLength < commonEndMax &&
    before[before.length - 1 - commonEndLength] === after[after.length - 1 - commonEndLength]
  )
    commonEndLength += 1;
  const unchangedLine = (text: string): DiffLine => ({ kind: ' ', text });
  return [
    ...before.slice(0, start).map(unchangedLine),
    ...diffMiddle(
      before.slice(start, before.length - commonEndLength),
      after.slice(start, after.length - commonEndLength),
    ),
    ...before.slice(before.length - commonEndLength).map(unchangedLine),
  ];
}

/** Myers' greedy algorithm: the furthest position on each diagonal for each number of edits. */
function diffMiddle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const furthestByEdits: Int32Array[] = [];
  let previous = new Int32Array(1);
  for (let edits = 0; edits <= Math.min(before.length + after.length, EDITS_MAX); edits += 1) {
    // `furthest` has diagonal k at index k + edits. `previous` is for one edit fewer and has diagonal k at index k + edits
    // - 1.
    const furthest = new Int32Array(2 * edits + 1);
    for (let k = -edits; k <= edits; k += 2) {
      let x = edits === 0 ? 0 : stepInto(previous, edits, k);
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      furthest[k + edits] = x;
      if (x >= before.length && x - k >= after.length)
        return backtrack(before, after, [...furthestByEdits, furthest]);
    }
    furthestByEdits.push(furthest);
    previous = furthest;
  }
  return [
    ...before.map((text): DiffLine => ({ kind: '-', text })),
    ...after.map((text): DiffLine => ({ kind: '+', text })),
  ];
}

/** Whether diagonal k is reached by an insertion, from the diagonal above it, rather than by a deletion. */
const isInsertion = (previous: Int32Array, edits: number, k: number): boolean =>
  k === -edits || (k !== edits && furthestOn(previous, edits, k - 1) < furthestOn(previous, edits, k + 1));

const furthestOn = (previous: Int32Array, edits: number, k: number): number => previous[k + edits - 1] ?? 0;

const stepInto = (previous: Int32Array, edits: number, k: number): number =>
  isInsertion(previous, edits, k)
    ? furthestOn(previous, edits, k + 1)
    : furthestOn(previous, edits, k - 1) + 1;

function backtrack(
  before: readonly string[],
  after: readonly string[],
  furthestByEdits: readonly Int32Array[],
): DiffLine[] {
  const reversed: DiffLine[] = [];
  let x = before.length;
  let y = after.length;
  for (let edits = furthestByEdits.length - 1; edits >= 0; edits -= 1) {
    const previous = furthestByEdits[edits - 1] ?? new Int32Array(1);
    const k = x - y;
    const isAdded = edits > 0 && isInsertion(previous, edits, k);
    const startX = edits === 0 ? 0 : stepInto(previous, edits, k);
    for (; x > startX; x -= 1, y -= 1) reversed.push({ kind: ' ', text: before[x - 1] ?? '' });
    if (edits === 0) break;
    if (isAdded) {
      y -= 1;
      reversed.push({ kind: '+', text: after[y] ?? '' });
    } else {
      x -= 1;
      reversed.push({ kind: '-', text: before[x] ?? '' });
    }
  }
  return reversed.reverse();
}

interface Hunk {
  readonly header: string;
  readonly lines: readonly DiffLine[];
}

/** Groups the changes into hunks; changes that are at most two contexts apart share a hunk. */
function hunksOf(lines: readonly DiffLine[]): Hunk[] {
  const ranges: { start: number; end: number }[] = [];
  for (const [at, { kind }] of lines.entries()) {
    if (kind === ' ') continue;
    const start = Math.max(at - CONTEXT_LINES, 0);
    const end = Math.min(at + CONTEXT_LINES + 1, lines.length);
    const last = ranges.at(-1);
    if (last !== undefined && start <= last.end) last.end = end;
    else ranges.push({ start, end });
  }
  let nextLine = 0;
  const lineCounts = { '-': 0, '+': 0 };
  return ranges.map(({ start, end }) => {
    for (; nextLine < start; nextLine += 1) countLine(lineCounts, lines[nextLine]);
    const countsBefore = { ...lineCounts };
    for (; nextLine < end; nextLine += 1) countLine(lineCounts, lines[nextLine]);
    const hunkRange = (side: '-' | '+') =>
      rangeText(countsBefore[side], lineCounts[side] - countsBefore[side]);
    return { header: `@@ -${hunkRange('-')} +${hunkRange('+')} @@`, lines: lines.slice(start, end) };
  });
}

function countLine(lineCounts: { '-': number; '+': number }, line: DiffLine | undefined): void {
  if (line?.kind !== '+') lineCounts['-'] += 1;
  if (line?.kind !== '-') lineCounts['+'] += 1;
}

/** The range of one side in the header of a hunk. An empty range names the line before it. */
const rangeText = (linesBefore: number, count: number): string =>
  count === 1 ? String(linesBefore + 1) : `${count === 0 ? linesBefore : linesBefore + 1},${count}`;
