import type { Mutant } from './mutant.js';
import type { MutantVerdict } from './trial.js';

const NAME_WIDTH = 44;
const BY_WIDTH = 10;
const MESSAGE_CHARS_MAX = 110;

const tableLine = (
  name: string,
  outcome: string,
  by: string,
  seeds: string,
  seconds: string,
  message: string,
): string =>
  [
    name.padEnd(NAME_WIDTH),
    outcome.padEnd(8),
    by.padEnd(BY_WIDTH),
    seeds.padStart(5),
    seconds.padStart(7),
    ` ${message}`,
  ].join(' ');

export const heading = (): string => tableLine('mutant', 'outcome', 'by', 'seeds', 'seconds', 'found');

export function mutantRow(
  { name, harm }: Mutant,
  { outcome, by, seeds, seconds, message }: MutantVerdict,
): string {
  const detail = message.replaceAll(/\s+/g, ' ').slice(0, MESSAGE_CHARS_MAX);
  const foundText = outcome === 'survived' ? `${detail} NOT FOUND: ${harm}` : detail;
  return tableLine(name, outcome, by, String(seeds), seconds.toFixed(1), foundText);
}

export function summaryText(verdicts: readonly MutantVerdict[]): string {
  const killed = verdicts.filter(({ outcome }) => outcome === 'killed');
  const bySearch = killed.filter(({ by }) => by === 'search').length;
  const byTests = killed.filter(({ by }) => by === 'tests').length;
  const bySeeds = killed.length - bySearch - byTests;
  return `${killed.length} of ${verdicts.length} killed: ${bySearch} by the search, ${bySeeds} by seeds, ${byTests} by tests`;
}
