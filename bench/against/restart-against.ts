import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProjectKey } from '../../src/stores/store.js';
import { newTempFolder } from '../harness.js';
import { integerText } from '../table.js';
import { type Build, buildRef, buildWorkingTree } from './build.js';
import { type Measure, roundsTable, runRounds } from './rounds.js';
import { runChild, runChildOnce } from './run-child.js';

const CHILD = join(import.meta.dirname, 'restart.child.ts');

interface RestartCost {
  readonly cpu_ms: number;
  readonly wall_ms: number;
}

interface WrittenLog {
  readonly project: ProjectKey;
  readonly memory_bytes: number;
}

const MEASURES: readonly Measure<RestartCost>[] = [
  ['cpu_ms', 'CPU ms', integerText],
  ['wall_ms', 'wall ms', integerText],
];

/** Compares two versions: the memory for a plan of completed tasks, and the time to open its log from the snapshot. */
export async function benchRestartAgainst(ref: string, tasks: number, rounds: number): Promise<void> {
  const builds = [await buildRef(ref), await buildWorkingTree()] as const;
  const temporary = await newTempFolder();
  const rootOf = ({ name }: Build): string => join(temporary, name.replace(/\W/g, '-'));
  const logs = new Map<Build, WrittenLog>();
  try {
    for (const build of builds) {
      await mkdir(rootOf(build));
      const args = ['write', build.dist, rootOf(build), String(tasks)];
      const writtenLog = await runChildOnce<WrittenLog>(CHILD, args);
      logs.set(build, writtenLog);
      const mebibytes = integerText(writtenLog.memory_bytes / 2 ** 20);
      console.log(`${build.name}: ${mebibytes} MiB used with ${integerText(tasks)} completed tasks`);
    }
    const measuredRounds = await runRounds(
      builds,
      rounds,
      (build) => {
        const project = JSON.stringify(logs.get(build)?.project);
        return runChild<RestartCost>(CHILD, ['open', build.dist, rootOf(build), project]);
      },
      (round) => process.stderr.write(`  restart: round ${round} of ${rounds}\n`),
    );
    console.log(`\nopening from the snapshot, medians of ${rounds} rounds\n`);
    console.log(roundsTable(builds, measuredRounds, MEASURES));
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
