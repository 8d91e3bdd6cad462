import lcovParser from '@friedemannsommer/lcov-parser/sync';
import { coverageCounts, type ReportParser } from './report-counts.js';

/** LCOV: the lines of all files. They are counted here, because the summary of a file may be wrong. */
export const parseLcov: ReportParser = (text) => {
  const lines = new Map<string, boolean>();
  for (const section of lcovParser({ from: text })) {
    // A file may have a section per test: a line is covered if any section covers it.
    for (const { line, hit } of section.lines.details) {
      const key = `${section.path}:${line}`;
      lines.set(key, hit > 0 || lines.get(key) === true);
    }
  }
  return coverageCounts([...lines.values()].filter(Boolean).length, lines.size);
};
