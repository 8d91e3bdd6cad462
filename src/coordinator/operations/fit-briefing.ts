import type { Briefing } from '../../core/contract/briefing.js';

const BRIEFING_BYTES_MAX = 8 * 1024;
const DEPENDENCIES_LISTED_MIN = 10;
const TEXT_CHARS_MIN = 100;

/** Makes a briefing smaller, or returns null if it cannot. */
type Reduction = (briefing: Briefing) => Briefing | null;

/**
 * Shortens a briefing until it fits into its limit, or cannot be shortened further: what can be read elsewhere is removed
 * first, the work itself last.
 * `reservedBytes` are left free for fields that are added later.
 */
export function shortenToLimit(full: Briefing, reservedBytes = 0): Briefing {
  let briefing = full;
  for (const reduce of REDUCTIONS) {
    while (sizeOf(briefing) > BRIEFING_BYTES_MAX - reservedBytes) {
      const reduced = reduce(briefing);
      if (reduced === null) break;
      briefing = reduced;
    }
  }
  return briefing;
}

const sizeOf = (briefing: Briefing): number => Buffer.byteLength(JSON.stringify(briefing));

const withoutOldest = <T>(items: readonly T[], countMin: number): readonly T[] | null =>
  items.length > countMin ? items.slice(1) : null;

const REDUCTIONS: readonly Reduction[] = [
  // Notes on the dependencies, beginning with those on the last dependency.
  (briefing) => reduceDependency(briefing, 'notes'),
  ({ notes, ...briefing }) => {
    const fewer = withoutOldest(notes, 0);
    return fewer === null ? null : { ...briefing, notes: [...fewer] };
  },
  (briefing) => reduceDependency(briefing, 'result'),
  ({ predecessors, ...briefing }) => {
    const fewer = withoutOldest(predecessors, 1);
    return fewer === null ? null : { ...briefing, predecessors: [...fewer] };
  },
  ({ dependencies, ...briefing }) =>
    dependencies.length > DEPENDENCIES_LISTED_MIN
      ? { ...briefing, dependencies: dependencies.slice(0, DEPENDENCIES_LISTED_MIN) }
      : null,
  // Checks can be left out, because the reply to a submission names those that are missing.
  ({ checks = [], ...briefing }) =>
    checks.length > 0 ? { ...briefing, checks: checks.slice(0, Math.floor(checks.length / 2)) } : null,
  ({ failed = [], ...briefing }) =>
    failed.length > 0 ? { ...briefing, failed: failed.slice(0, Math.floor(failed.length / 2)) } : null,
  ({ instructions, ...briefing }) =>
    instructions !== null && instructions.length > TEXT_CHARS_MIN
      ? { ...briefing, instructions: truncateToHalf(instructions) }
      : null,
  ({ description, ...briefing }) =>
    description.length > TEXT_CHARS_MIN ? { ...briefing, description: truncateToHalf(description) } : null,
];

function reduceDependency(briefing: Briefing, field: 'notes' | 'result'): Briefing | null {
  const at = briefing.dependencies.findLastIndex((dependency) => dependency[field] !== undefined);
  const dependency = briefing.dependencies[at];
  if (dependency === undefined) return null;
  const { [field]: _, ...reduced } = dependency;
  return { ...briefing, dependencies: briefing.dependencies.with(at, reduced) };
}

const truncateToHalf = (text: string): string =>
  `${text.slice(0, Math.floor(text.length / 2))} … (truncated)`;
