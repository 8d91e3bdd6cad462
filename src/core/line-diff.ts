/** A run of lines that both texts have, that only the old one has, or that only the new one has. */
interface DiffLine {
  readonly kind: ' ' | '-' | '+';
  /** With its line break, if it has one. */
  readonly text: string;
}

/** Bounds the work and the memory. Texts that differ in more lines are shown as replaced from the first difference on. */
const EDITS_MAX = 2000;
const CONTEXT_LINES = 3;

/** The unified diff of two texts, without file headers; empty if the texts are equal. */
export function unifiedDiff(before: string, after: string): string {
  const lines = diffLines(linesOf(before), linesOf(after));
  return hunksOf(lines)
    .flatMap(({ header, shown }) => [header, ...shown.map(renderLine)])
    .join('\n');
}

const renderLine = ({ kind, text }: DiffLine): string =>
  text.endsWith('\n') ? `${kind}${text.slice(0, -1)}` : `${kind}${text}\n\\ No newline at end of file`;

const linesOf = (text: string): string[] => text.split(/(?<=\n)/).filter((line) => line !== '');

function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let ends = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (ends < shorter && before[before.length - 1 - ends] === after[after.length - 1 - ends]) ends += 1;
  const unchangedLine = (text: string): DiffLine => ({ kind: ' ', text });
  return [
    ...before.slice(0, start).map(unchangedLine),
    ...diffMiddle(before.slice(start, before.length - ends), after.slice(start, after.length - ends)),
    ...before.slice(before.length - ends).map(unchangedLine),
  ];
}

/** Myers' greedy algorithm: the furthest position on each diagonal for each number of edits. */
function diffMiddle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const furthestByEdits: Int32Array[] = [];
  let previous = new Int32Array(1);
  for (let edits = 0; edits <= Math.min(before.length + after.length, EDITS_MAX); edits += 1) {
    // Diagonal k is at index k + edits; the row before has its diagonal k at k + edits - 1.
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
  readonly shown: readonly DiffLine[];
}

/** Groups changes that are at most two contexts apart. */
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
  let read = 0;
  const passed = { '-': 0, '+': 0 };
  return ranges.map(({ start, end }) => {
    for (; read < start; read += 1) countLine(passed, lines[read]);
    const first = { ...passed };
    for (; read < end; read += 1) countLine(passed, lines[read]);
    const hunkRange = (side: '-' | '+') => rangeText(first[side], passed[side] - first[side]);
    return { header: `@@ -${hunkRange('-')} +${hunkRange('+')} @@`, shown: lines.slice(start, end) };
  });
}

function countLine(passed: { '-': number; '+': number }, line: DiffLine | undefined): void {
  if (line?.kind !== '+') passed['-'] += 1;
  if (line?.kind !== '-') passed['+'] += 1;
}

/** An empty range names the line before it. */
const rangeText = (passed: number, count: number): string =>
  count === 1 ? String(passed + 1) : `${count === 0 ? passed : passed + 1},${count}`;
