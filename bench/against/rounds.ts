import { table } from '../table.js';
import type { Build } from './build.js';
import { median, ratioOf, spreadText } from './statistics.js';

/** The costs of each operation in one run. */
export type RunCosts<Cost> = Readonly<Record<string, Cost>>;

/** The runs of both versions in one round. */
export interface Round<Cost> {
  readonly before: RunCosts<Cost>;
  readonly after: RunCosts<Cost>;
}

/** A row of the table: a field of the costs, its title and its format. */
export type Measure<Cost> = readonly [keyof Cost, string, (value: number) => string];

/**
 * Runs two versions in turn, so that a change in the speed of the machine affects both. The order alternates, so that
 * neither version always comes second.
 */
export async function runRounds<Cost>(
  [before, after]: readonly [Build, Build],
  rounds: number,
  run: (build: Build) => Promise<RunCosts<Cost>>,
  onRound: (round: number) => void,
): Promise<Round<Cost>[]> {
  const measuredRounds: Round<Cost>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const isEven = round % 2 === 0;
    const first = await run(isEven ? before : after);
    const second = await run(isEven ? after : before);
    measuredRounds.push(isEven ? { before: first, after: second } : { before: second, after: first });
    onRound(round + 1);
  }
  return measuredRounds;
}

/** A table with the medians of both versions. Each ratio compares two runs of the same round. */
export function roundsTable<Cost>(
  [before, after]: readonly [Build, Build],
  rounds: readonly Round<Cost>[],
  measures: readonly Measure<Cost>[],
): string {
  const rows = Object.keys(rounds[0]?.before ?? {}).flatMap((operation) =>
    measures.map(([field, title, format]) => {
      const valuesOf = (version: keyof Round<Cost>): number[] =>
        rounds.map((round) => Number(round[version][operation]?.[field] ?? Number.NaN));
      const [beforeValues, afterValues] = [valuesOf('before'), valuesOf('after')];
      const { ratio, lowest, highest } = ratioOf(beforeValues, afterValues);
      const cells = [format(median(beforeValues)), format(median(afterValues)), ratio.toFixed(2)];
      return [operation, title, ...cells, spreadText(lowest, highest)];
    }),
  );
  return table(['operation', 'measure', before.name, after.name, 'ratio', 'spread'], rows);
}
