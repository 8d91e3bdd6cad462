import type { Mutant } from './mutant.js';
import type { Verdict } from './trial.js';

const NAME_WIDTH = 44;
const BY_WIDTH = 10;
const SAYS_MAX = 110;

const line = (name: string, fate: string, by: string, seeds: string, seconds: string, says: string): string =>
  [
    name.padEnd(NAME_WIDTH),
    fate.padEnd(8),
    by.padEnd(BY_WIDTH),
    seeds.padStart(5),
    seconds.padStart(7),
    ` ${says}`,
  ].join(' ');

export const heading = (): string => line('mutant', 'fate', 'by', 'seeds', 'seconds', 'found');

export function row({ name, why }: Mutant, { fate, by, seeds, seconds, says }: Verdict): string {
  const found = says.replaceAll(/\s+/g, ' ').slice(0, SAYS_MAX);
  const told = fate === 'killed' ? found : `${found} NOT FOUND: ${why}`;
  return line(name, fate, by, String(seeds), seconds.toFixed(1), told);
}

export function summary(verdicts: readonly Verdict[]): string {
  const killed = verdicts.filter(({ fate }) => fate === 'killed');
  const bySearch = killed.filter(({ by }) => by === 'search').length;
  const byTests = killed.filter(({ by }) => by === 'tests').length;
  const bySeeds = killed.length - bySearch - byTests;
  return `${killed.length} of ${verdicts.length} killed: ${bySearch} by the search, ${bySeeds} by seeds, ${byTests} by tests`;
}
