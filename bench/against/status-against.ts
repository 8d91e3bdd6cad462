import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newTempFolder } from '../harness.js';
import { type CommandCost, EVENTS, meterCommand } from '../methodology.js';
import { integerText } from '../table.js';
import { type Build, buildRef, buildWorkingTree } from './build.js';
import { type Measure, roundsTable, runRounds } from './rounds.js';

const MEASURES: readonly Measure<CommandCost>[] = [
  ['cpu_ms', 'CPU ms', integerText],
  ['wall_ms', 'wall ms', integerText],
];

/** Compares `gen status`, from process start to exit, in a workspace. Each version writes its own workspace. */
export async function benchStatusAgainst(ref: string, rounds: number): Promise<void> {
  const builds = [await buildRef(ref), await buildWorkingTree()] as const;
  const folders = new Map<Build, string>();
  const measureStatus = (build: Build): Promise<CommandCost> =>
    meterCommand(folders.get(build) as string, [join(build.dist, 'cli/main.js'), 'status']);
  try {
    for (const build of builds) {
      const folder = await newTempFolder();
      folders.set(build, folder);
      const { workspaceWithLog } = await import(join(build.sources, 'bench/methodology-log.ts'));
      await workspaceWithLog(folder, EVENTS);
      await measureStatus(build);
    }
    const measuredRounds = await runRounds(
      builds,
      rounds,
      async (build) => ({ 'gen status': await measureStatus(build) }),
      (round) => process.stderr.write(`  gen status: round ${round} of ${rounds}\n`),
    );
    console.log(`\ngen status on ${integerText(EVENTS)} events, medians of ${rounds} rounds\n`);
    console.log(roundsTable(builds, measuredRounds, MEASURES));
  } finally {
    for (const folder of folders.values()) await rm(folder, { recursive: true, force: true });
  }
}
